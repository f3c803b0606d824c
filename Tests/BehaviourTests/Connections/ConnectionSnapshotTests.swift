import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("What a session tells of its connections", .timeLimit(.minutes(1)))
struct ConnectionSnapshotTests {
    private static func only(_ session: URLSession, _ port: Int) async throws -> OriginConnections {
        try #require(await session.connections.first { $0.port == port })
    }

    @Test("The numbers of open, busy, idle, waiting and reused connections are what the server saw")
    func numbers() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .text("hello").after([.waitFor(gate)])
        } configure: {
            $0.httpMaximumConnectionsPerHost = 2
            $0.urlCache = nil
        }
        defer { rig.stop() }
        #expect(await rig.session.connections.isEmpty)
        let tasks = (0..<5).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { task.resume() }
        try await rig.server.waitForRequests(2)
        let busy = try await Self.only(rig.session, rig.server.port)
        #expect((busy.scheme, busy.host) == ("http", "127.0.0.1"))
        #expect(busy.open == rig.server.openConnections)
        #expect((busy.open, busy.inUse, busy.idle, busy.running, busy.waiting) == (2, 2, 0, 2, 3))
        #expect((busy.reuseCount, busy.protocolName) == (0, nil))
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        let idle = try await Self.only(rig.session, rig.server.port)
        #expect(idle.open == rig.server.openConnections)
        #expect((idle.open, idle.inUse, idle.idle, idle.running, idle.waiting) == (2, 0, 2, 0, 0))
        #expect(idle.reuseCount == rig.server.requestCount - rig.server.connectionCount)
        #expect(idle.protocolName == "http/1.1")
        await rig.session.flush()
        try await rig.server.waitUntilNoConnections()
        #expect(try await Self.only(rig.session, rig.server.port).open == 0)
    }

    @Test("A connection is that of the origin it was opened for, and a cancelled task's is closed")
    func origins() async throws {
        let one = try LoopbackServer { _ in .text("hello") }
        let other = try LoopbackServer { _ in .never }
        defer { for server in [one, other] { server.stop() } }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: one.url("/"))
        let task = session.dataTask(with: other.url("/"))
        task.resume()
        try await other.waitForRequests(1)
        let both = await session.connections
        #expect(both.count == 2)
        #expect(both.first { $0.port == one.port }?.idle == 1)
        #expect(both.first { $0.port == other.port }?.inUse == 1)
        task.cancel()
        try await other.waitUntilNoConnections()
        #expect(try await Self.only(session, other.port).open == 0)
    }

    @Test("Requests that share an HTTP/2 connection are in use on one, however many run")
    func multiplexed() async throws {
        let gate = Gate()
        let nginx = try NginxHTTP2.shared()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) {
            $0.path == "/first" ? .text("first") : .text("hello").after([.waitFor(gate)])
        } configure: {
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.urlCache = nil
        }
        defer { rig.stop() }
        _ = try await rig.session.data(from: nginx.url(.plain, "/proxy/\(rig.server.port)/first"))
        let tasks = (0..<20).map { _ in rig.session.dataTask(with: nginx.url(.plain, "/proxy/\(rig.server.port)/")) }
        for task in tasks { task.resume() }
        try await rig.server.waitForRequests(21)
        let busy = try await Self.only(rig.session, nginx.port(of: .plain))
        #expect((busy.open, busy.inUse, busy.running, busy.waiting) == (1, 1, 20, 0))
        #expect(busy.protocolName == "h2")
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        let idle = try await Self.only(rig.session, nginx.port(of: .plain))
        #expect((idle.open, idle.idle, idle.reuseCount) == (1, 1, 20))
    }
}
