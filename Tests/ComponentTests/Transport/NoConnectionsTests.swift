import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("The connection of a transfer that has ended", .timeLimit(.minutes(1)))
struct NoConnectionsTests {
    @Test("The connection of a transfer that has ended is forgotten by its handle, and the next transfer has it")
    func forgotten() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let noConnections = try #require(NoConnections())
        let transfer = RecordedTransfer()
        // By now libcurl has ended it, but its handle is still there.
        transfer.onSettled = { transfer, heard in
            guard heard.contains(.body), let easy = transfer.easy else { return }
            #expect(easy.info.activeSocket != nil)
            noConnections.replaceConnection(of: easy)
            #expect(easy.info.activeSocket == nil)
        }
        var quirks = CurlQuirks.current
        quirks.looksThroughConnections = false
        try await LoopRig.use(quirks: quirks) { rig in
            for transfer in [transfer, RecordedTransfer()] {
                try await rig.run(transfer, MultiTests.get(server))
                #expect(transfer.failure == nil)
            }
        }
        #expect(transfer.events.contains(.body))
        #expect(server.connectionCount == 1)
    }
}
