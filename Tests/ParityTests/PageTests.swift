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
        let program = Products.directory.appendingPathComponent("urlsession-parity").path
        let run = try ChildProcess([program, "--markdown"])
        let found = await run.remainingLines()
        let page = try String(contentsOf: Self.page, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let difference = found.difference(from: page.dropLast(page.last == "" ? 1 : 0).map(String.init))
        for change in difference.prefix(20) {
            switch change {
            case .remove(let line, let text, _): Issue.record("line \(line + 1) of the page is no longer true: \(text)")
            case .insert(_, let text, _): Issue.record("a run also says: \(text)")
            }
        }
        #expect(difference.isEmpty)
        #expect(await run.ending() == .exit(0), "there is a scenario in which ours is different")
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
