import Foundation
import TestSupport
import Testing

@Suite("Two thousand HTTPS sessions", .timeLimit(.minutes(10)))
struct SessionCyclesTests {
    @Test("Two thousand HTTPS sessions that are used, cancelled and invalidated leave nothing behind")
    func cycles() async throws {
        // A sanitizer makes each of them up to thirty times as slow.
        let count = ProcessUsage.isSanitized ? 400 : 2000
        let nginx = try Nginx.shared()
        let url = nginx.tls(NginxSite.smallPath).absoluteString
        // Without trust the handshakes fail, which has to leave just as little behind.
        let isTrusted = NginxTrust.isPossible
        let helper =
            try isTrusted
            ? NginxTrust(nginx.site).startHelper("cycles", url, "\(count)")
            : TestHelper.start("cycles", url, "\(count)")
        try #require(await helper.line() == "ready")
        let before = await ProcessUsage.atRest(of: helper.pid)
        helper.say("go")
        let cancelled = "error\(URLError.cancelled.rawValue)=\(count / 2)"
        let others =
            isTrusted
            ? "status200=\(count / 2)" : "error\(URLError.serverCertificateHasUnknownRoot.rawValue)=\(count / 2)"
        let tally = await helper.line()
        #expect(Set((tally ?? "").split(separator: " ").map(String.init)) == [cancelled, others])
        _ = await ProcessUsage.settled(like: before, of: helper.pid)
        // Otherwise it is chance how much the allocator keeps of what was freed.
        helper.say("trim")
        try #require(await helper.line() == "trimmed")
        let after = ProcessUsage(of: helper.pid)
        #expect(after.descriptors.count <= before.descriptors.count, "\(before.kinds) → \(after.kinds)")
        #expect(after.sockets <= before.sockets)
        #expect(after.threads <= before.threads + 2)
        let growth = ProcessUsage.growth(of: 24 << 20)
        #expect(after.resident < before.resident + growth, "\(before.resident) → \(after.resident)")
        helper.closeInput()
        _ = await helper.ending()
    }
}
