import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session's connections", .timeLimit(.minutes(1)))
struct SessionConnectionsTests {
    @Test("A connection is used again")
    func reuse() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        for _ in 0..<5 { _ = try await session.data(from: server.url("/")) }
        #expect(server.connectionCount == 1)
    }

    @Test("Each session has connections of its own")
    func separation() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let sessions = [URLSession.forTest(), URLSession.forTest()]
        defer { for session in sessions { session.invalidateAndCancel() } }
        for session in sessions { _ = try await session.data(from: server.url("/")) }
        #expect(server.connectionCount == 2)
    }

    @Test("After flush, requests use new connections, and the idle one is closed")
    func flush() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        await session.flush()
        try await server.waitUntilNoConnections()
        _ = try await session.data(from: server.url("/"))
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    @Test("flush calls its handler on the delegate queue, and lets tasks under way keep their connection")
    func flushDuringTask() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            request.path == "/slow" ? .pieces([.bytes("first "), .waitFor(gate), .bytes("second")]) : .text("hello")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/slow"))
        task.resume()
        try await delegate.wait(for: task, bytes: 6)
        let queue = session.delegateQueue
        let isOnQueue = await withCheckedContinuation { continuation in
            session.flush { continuation.resume(returning: OperationQueue.current === queue) }
        }
        #expect(isOnQueue)
        _ = try await session.data(from: server.url("/"))
        gate.open()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("first second".utf8))
        #expect(server.requests.map(\.connection) == [1, 2])
        // What the task leaves behind belongs to nobody.
        try await server.waitForOpenConnections(atMost: 1)
    }

    @Test("reset empties the storages and has later requests use new connections")
    func reset() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let configuration = session.configuration
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: "b", .domain: "127.0.0.1", .path: "/"])
        )
        configuration.httpCookieStorage?.setCookie(cookie)
        let space = URLProtectionSpace(
            host: "127.0.0.1",
            port: server.port,
            protocol: "http",
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic
        )
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        configuration.urlCredentialStorage?.set(credential, for: space)
        let request = URLRequest(url: server.url("/cached"))
        let cached = CachedURLResponse(
            response: URLResponse(url: server.url("/"), mimeType: nil, expectedContentLength: 1, textEncodingName: nil),
            data: Data("x".utf8)
        )
        configuration.urlCache?.storeCachedResponse(cached, for: request)
        #expect(configuration.httpCookieStorage?.cookies?.count == 1)
        #expect(configuration.urlCredentialStorage?.credentials(for: space)?.isEmpty == false)

        _ = try await session.data(from: server.url("/"))
        await session.reset()
        #expect(configuration.httpCookieStorage?.cookies?.isEmpty ?? false)
        #expect(configuration.urlCredentialStorage?.credentials(for: space)?.isEmpty ?? true)
        #expect(configuration.urlCache?.cachedResponse(for: request) == nil)
        _ = try await session.data(from: server.url("/"))
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    @Test("A connection that the server has closed meanwhile is replaced without the program noticing")
    func staleConnection() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        server.dropIdleConnections()
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(data == Data("hello".utf8))
    }
}
