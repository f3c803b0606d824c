import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("A multi without transfers", .timeLimit(.minutes(1)))
struct MultiIdleTests {
    @Test("A multi has no handle of libcurl's before its first transfer, and one while its connection is kept")
    func lazily() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        try await LoopRig.use { rig in
            #expect(try await rig.perform { $0.hasHandle } == false)
            try await rig.run(RecordedTransfer(), MultiTests.get(server))
            #expect(try await rig.perform { $0.hasHandle })
        }
    }

    @Test("Connections of a multi that are idle for long enough are closed, and others are made when needed")
    func lifetime() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        try await LoopRig.use(ConnectionLimits(kept: 100, idleLifetime: .milliseconds(1))) { rig in
            for count in 1...3 {
                let transfer = try await rig.run(RecordedTransfer(), MultiTests.get(server))
                #expect(transfer.body == Data("hello".utf8))
                try await server.waitUntilNoConnections()
                #expect(try await rig.perform { $0.hasHandle } == false)
                #expect(server.connectionCount == count)
            }
        }
    }
}
