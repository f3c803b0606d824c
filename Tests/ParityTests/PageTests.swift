import Foundation
import TestSupport
import Testing

@Suite("The documentation's page on parity")
struct PageTests {
    @Test(
        "says what a run says: after a change, `make parity` writes it anew",
        .enabled(if: !Products.isSanitized, "what the stock module does under a sanitizer is no subject of ours"),
        .timeLimit(.minutes(10))
    )
    func agreesWithARun() async throws {
        var (difference, ending) = try await Self.run()
        // What the stock module does is now and then a matter of luck, and so is then the verdict.
        if !difference.isEmpty { (difference, ending) = try await Self.run() }
        for change in difference.prefix(20) {
            switch change {
            case .remove(let line, let text, _): Issue.record("line \(line + 1) of the page is no longer true: \(text)")
            case .insert(_, let text, _): Issue.record("a run also says: \(text)")
            }
        }
        #expect(difference.count == 0)
        #expect(ending == .exit(0), "there is a scenario in which ours is different")
    }

    /// What has to change in the page to make it that of a run, and how the run ended.
    private static func run() async throws -> (difference: CollectionDifference<String>, ending: ChildProcess.Ending) {
        let program = Products.directory.appendingPathComponent("urlsession-parity").path
        let run = try ChildProcess([program, "--markdown"])
        let found = await run.remainingLines()
        let page = try String(contentsOf: Self.page, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let lines = page.dropLast(page.last == "" ? 1 : 0).map(String.init)
        return (found.difference(from: lines), await run.ending())
    }

    private static let page = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/CurlNetworking/CurlNetworking.docc/Parity.md")
}

extension Products {
    /// Whether the tests run under a sanitizer, which has its own way with time and memory.
    static var isSanitized: Bool {
        ["__tsan_init", "__asan_init"].contains { (name: String) in dlsym(nil, name) != nil }
    }
}
