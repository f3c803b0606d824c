import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The end of a session with several event loops", .timeLimit(.minutes(1)))
struct EventLoopsEndTests {
    private static func session(delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        URLSession.forTest(delegate: delegate) { configuration in
            configuration.curl.eventLoops = 3
            configuration.urlCache = nil
        }
    }

    /// 48 tasks for six hosts; returns when 36 of them run.
    private static func fill(_ session: URLSession, _ servers: [LoopbackServer]) async throws -> [URLSessionDataTask] {
        let tasks = (0..<48).map { session.dataTask(with: servers[$0 % 6].url("/")) }
        for task in tasks { task.resume() }
        for server in servers { try await server.waitForRequests(6) }
        return tasks
    }

    @Test("invalidateAndCancel ends what runs on all of them, and then tells the delegate")
    func invalidateAndCancel() async throws {
        let servers = try (0..<6).map { _ in try LoopbackServer { _ in .never } }
        defer { for server in servers { server.stop() } }
        let delegate = RecordingDelegate()
        let session = Self.session(delegate: delegate)
        let tasks = try await Self.fill(session, servers)
        session.invalidateAndCancel()
        try await delegate.invalidation()
        for task in tasks {
            #expect(try await delegate.completion(of: task)?.code == .cancelled)
            #expect(delegate.completionCount(of: task) == 1)
        }
        #expect(delegate.entries.last?.event == .becameInvalid)
        for server in servers { try await server.waitUntilNoConnections() }
    }

    @Test("finishTasksAndInvalidate waits for what runs on all of them")
    func finishTasks() async throws {
        let gate = Gate()
        let servers = try (0..<6).map { _ in try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) } }
        defer { for server in servers { server.stop() } }
        let delegate = RecordingDelegate()
        let session = Self.session(delegate: delegate)
        let tasks = try await Self.fill(session, servers)
        session.finishTasksAndInvalidate()
        gate.open()
        try await delegate.invalidation()
        for task in tasks { #expect(delegate.body(of: task) == Data("hello".utf8)) }
        #expect(delegate.entries.last?.event == .becameInvalid)
        for server in servers { try await server.waitUntilNoConnections() }
    }

    @Test("A session that is dropped closes its connections on all of them")
    func drop() async throws {
        let servers = try (0..<6).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        do {
            let session = Self.session()
            for server in servers { _ = try await session.data(from: server.url("/")) }
            #expect(servers.map(\.openConnections) == [1, 1, 1, 1, 1, 1])
        }
        for server in servers { try await server.waitUntilNoConnections() }
    }

    @Test("flush renews the connections on all of them, and calls its handler once, when that is done")
    func flush() async throws {
        let servers = try (0..<6).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for server in servers { _ = try await session.data(from: server.url("/")) }
        let calls = Watched(0)
        session.flush { calls.update { $0 += 1 } }
        try await calls.wait { $0 > 0 }
        #expect(await session.connections.allSatisfy { $0.open == 0 })
        for server in servers {
            try await server.waitUntilNoConnections()
            _ = try await session.data(from: server.url("/"))
            #expect(server.requests.map(\.connection) == [1, 2])
        }
        #expect(calls.value == 1)
    }
}
