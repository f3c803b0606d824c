import Foundation
import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
    /// For tests whose process must trust nginx's certificate.
    static var needsTrust: Self {
        .enabled(if: NginxTrust.isPossible, "Needs root, or the right to make a mount namespace")
    }
}

/// The helper, about to load something large from nginx.
struct LargeLoad: Sendable {
    /// What it said after loading.
    let line: String
    /// By how much its memory has grown at most, in bytes.
    let growth: Int

    init(_ words: String...) async throws {
        let helper = try ChildProcess([TestHelper.path(), "load"] + words)
        try #require(await helper.line() == "ready")
        try ProcessUsage.resetPeak(of: helper.pid)
        let before = ProcessUsage(of: helper.pid).resident
        helper.say("go")
        line = try #require(await helper.line())
        growth = ProcessUsage(of: helper.pid).peak - before
        helper.closeInput()
        _ = await helper.ending()
    }
}

/// Compares files a piece at a time.
func haveSameContent(_ one: URL, _ other: URL) throws -> Bool {
    let files = try [FileHandle(forReadingFrom: one), FileHandle(forReadingFrom: other)]
    defer { for file in files { try? file.close() } }
    while true {
        let pieces = try files.map { try $0.read(upToCount: 4 << 20) ?? Data() }
        if pieces[0] != pieces[1] { return false }
        if pieces[0].isEmpty { return true }
    }
}
