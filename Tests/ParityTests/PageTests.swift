import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite("The page on parity")
struct PageTests {
    @Test(
        "The page on parity says what a run says: after a change, `make parity` writes it anew",
        .enabled(if: !ProcessUsage.isSanitized, "what the stock module does under a sanitizer is no subject of ours"),
        .timeLimit(.minutes(10))
    )
    func agreesWithARun() async throws {
        let page = try Self.verdicts(in: String(contentsOf: Self.page, encoding: .utf8).components(separatedBy: "\n"))
        var stale = page
        var unsaid: Set<String>?
        var odd: Set<String> = []
        var succeeded = false
        // What the stock module does is now and then a matter of luck, and so is then the verdict: what is true of one run of
        // three may stand on the page. A fault of ours alone is one in whichever run.
        for _ in 0..<3 where !stale.isEmpty || !(unsaid ?? []).isEmpty || !succeeded {
            let (found, faults, ending) = try await Self.run()
            for fault in faults { Issue.record("\(fault)") }
            stale.subtract(found)
            let new = found.subtracting(page)
            odd.formUnion(new)
            unsaid = unsaid?.intersection(new) ?? new
            if ending == .exit(0) { succeeded = true }
        }
        for line in stale { Issue.record("no longer true: \(line)") }
        for line in unsaid ?? [] { Issue.record("missing: \(line)") }
        #expect(succeeded, "in each run there is a scenario in which ours is different: \(odd.sorted())")
    }

    private static func run() async throws -> (
        verdicts: Set<String>, faults: [String], ending: ChildProcess.Ending
    ) {
        let run = try ChildProcess([Products.program("urlsession-parity"), "--markdown"])
        let lines = await run.remainingLines()
        return (verdicts(in: lines), faults(in: lines), await run.ending())
    }

    /// The scenarios whose verdict has a reason in which the stock module has no part.
    private static func faults(in lines: [String]) -> [String] {
        var scenario = ""
        return lines.compactMap { line in
            if line.hasPrefix("### ") { scenario = String(line.dropFirst(4)) }
            return line.hasPrefix("ours ") ? "\(scenario): \(line)" : nil
        }
    }

    /// The page is written where libcurl is this one. With another the stock module does some things better and others worse.
    private static let pagesLibcurl = "7.88."

    /// The rows of the table: a scenario and what became of it, each.
    private static func verdicts(in lines: [String]) -> Set<String> {
        let rows = Set(lines.filter { $0.hasPrefix("| ") })
        guard !CurlLibrary.versionText.hasPrefix(pagesLibcurl) else { return rows }
        return Set(rows.map { $0.replacingOccurrences(of: "| ours better |", with: "| same |") })
    }

    private static let page = Products.sources.appendingPathComponent("Tests/Parity/Parity.md")
}
