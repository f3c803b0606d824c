import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The limit of connections in all", .timeLimit(.minutes(1)))
struct TotalConnectionsTests {
    @Test("The limit in all holds over all hosts, and waiting requests are sent as others finish")
    func limit() async throws {
        let gate = Gate()
        let servers = try (0..<3).map { _ in try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) } }
        defer { for server in servers { server.stop() } }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.eventLoops = 1
            $0.curl.maximumConnections = 4
            $0.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let tasks = (0..<18).map { session.dataTask(with: servers[$0 % 3].url("/")) }
        for task in tasks { task.resume() }
        for (server, count) in zip(servers, [2, 1, 1]) { try await server.waitForRequests(count) }
        await session.flush()
        #expect(servers.map(\.openConnections) == [2, 1, 1])
        let waiting = await session.connections.reduce(0) { $0 + $1.waiting }
        #expect(waiting == 14)
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        #expect(servers.map(\.requestCount) == [6, 6, 6])
    }

    @Test("Idle connections to one host make room for another's")
    func idleMakesRoom() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let session = URLSession.forTest { $0.curl.maximumConnections = 1 }
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            _ = try await session.data(from: servers[0].url("/"))
            _ = try await session.data(from: servers[1].url("/"))
            try await servers[0].waitUntilNoConnections()
            #expect(servers[1].openConnections == 1)
        }
    }

    @Test("No more idle connections are kept than asked for")
    func kept() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .text("hello").after([.waitFor(gate)])
        } configure: {
            $0.curl.eventLoops = 1
            $0.curl.maximumKeptConnections = 2
            $0.urlCache = nil
        }
        defer { rig.stop() }
        let tasks = (0..<5).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { task.resume() }
        try await rig.server.waitForRequests(5)
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        try await rig.server.waitForOpenConnections(atMost: 2)
        #expect(await rig.session.connections.first?.idle == 2)
    }
}
