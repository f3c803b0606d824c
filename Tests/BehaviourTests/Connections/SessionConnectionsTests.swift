import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session's connections", .timeLimit(.minutes(1)))
struct SessionConnectionsTests {
    @Test("A connection is used again")
    func reuse() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        for _ in 0..<5 { _ = try await rig.session.data(from: rig.url("/")) }
        #expect(rig.server.connectionCount == 1)
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
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        await rig.session.flush()
        try await rig.server.waitUntilNoConnections()
        _ = try await rig.session.data(from: rig.url("/"))
        #expect(rig.server.requests.map(\.connection) == [1, 2])
    }

    @Test("flush calls its handler on the delegate queue, and lets tasks under way keep their connection")
    func flushDuringTask() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/slow" ? .pieces([.bytes("first "), .waitFor(gate), .bytes("second")]) : .text("hello")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/slow"))
        task.resume()
        try await delegate.wait(for: task, bytes: 6)
        let queue = rig.session.delegateQueue
        let isOnQueue = await withCheckedContinuation { continuation in
            rig.session.flush { continuation.resume(returning: OperationQueue.current === queue) }
        }
        #expect(isOnQueue)
        _ = try await rig.session.data(from: rig.url("/"))
        gate.open()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("first second".utf8))
        #expect(rig.server.requests.map(\.connection) == [1, 2])
        // What the task leaves behind has no owner.
        try await rig.server.waitForOpenConnections(atMost: 1)
    }

    @Test("reset empties the storages and has later requests use new connections")
    func reset() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let configuration = rig.session.configuration
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: "b", .domain: "127.0.0.1", .path: "/"])
        )
        configuration.httpCookieStorage?.setCookie(cookie)
        let space = URLProtectionSpace(
            host: "127.0.0.1",
            port: rig.server.port,
            protocol: "http",
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic
        )
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        configuration.urlCredentialStorage?.set(credential, for: space)
        let request = URLRequest(url: rig.url("/cached"))
        let cached = CachedURLResponse(
            response: URLResponse(url: rig.url("/"), mimeType: nil, expectedContentLength: 1, textEncodingName: nil),
            data: Data("x".utf8)
        )
        configuration.urlCache?.storeCachedResponse(cached, for: request)
        #expect(configuration.httpCookieStorage?.cookies?.count == 1)
        #expect(configuration.urlCredentialStorage?.credentials(for: space)?.isEmpty == false)

        _ = try await rig.session.data(from: rig.url("/"))
        await rig.session.reset()
        #expect(configuration.httpCookieStorage?.cookies?.isEmpty ?? false)
        #expect(configuration.urlCredentialStorage?.credentials(for: space)?.isEmpty ?? true)
        #expect(configuration.urlCache?.cachedResponse(for: request) == nil)
        _ = try await rig.session.data(from: rig.url("/"))
        #expect(rig.server.requests.map(\.connection) == [1, 2])
    }

    @Test("A connection that the server has closed meanwhile is replaced without the program noticing")
    func staleConnection() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        rig.server.dropIdleConnections()
        let (data, _) = try await rig.session.data(from: rig.url("/"))
        #expect(data == Data("hello".utf8))
    }
}
