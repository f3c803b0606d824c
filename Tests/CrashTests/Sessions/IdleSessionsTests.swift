import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Hundreds of idle sessions", .timeLimit(.minutes(2)))
struct IdleSessionsTests {
    @Test("Hundreds of idle sessions hold no descriptors once their connections are gone, and can be used again")
    func descriptors() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let helper = try TestHelper.start("idle", server.url("/").absoluteString, "300")
        try #require(await helper.line() == "ready")
        // Its first session's connection isn't counted.
        try await server.waitUntilNoConnections()
        let before = await ProcessUsage.atRest(of: helper.pid)
        for _ in 0..<2 {
            helper.say("go")
            #expect(await helper.line() == "300")
            #expect(ProcessUsage(of: helper.pid).descriptors.count >= before.descriptors.count + 300)
            server.dropIdleConnections()
            let after = await ProcessUsage.settled(like: before, of: helper.pid)
            #expect(after.descriptors.count <= before.descriptors.count, "\(before.kinds) → \(after.kinds)")
        }
        helper.closeInput()
        _ = await helper.ending()
    }
}
