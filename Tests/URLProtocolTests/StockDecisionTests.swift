import CurlURLProtocol
import Foundation
import FoundationNetworking
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Decisions of a stock session on our transport", .timeLimit(.minutes(1)))
struct StockDecisionTests {
    @Test("A redirect is followed, and the delegate asked", arguments: [true, false])
    func redirect(follows: Bool) async throws {
        let server = try LoopbackServer { $0.path == "/" ? .redirect(to: "/there") : .text("there") }
        defer { server.stop() }
        let delegate = StockDelegate(followsRedirects: follows)
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        let state = try await delegate.end()
        #expect(state.events == ["redirect 302 to /there", follows ? "response 200" : "response 302"])
        #expect(server.requests.map(\.path) == (follows ? ["/", "/there"] : ["/"]))
    }

    @Test("Without a delegate a redirect is followed too")
    func redirectWithoutDelegate() async throws {
        let server = try LoopbackServer { $0.path == "/" ? .redirect(to: "/there") : .text("there") }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(from: server.url("/"))
        #expect(data == Data("there".utf8))
        #expect(response.url?.path == "/there")
    }

    @Test("A challenge is put to the delegate, whose credential is used")
    func challenge() async throws {
        let server = try LoopbackServer { request in
            request.headers(named: "Authorization").isEmpty
                ? .status(401).header("WWW-Authenticate", "Basic realm=\"here\"") : .text("welcome")
        }
        defer { server.stop() }
        let delegate = StockDelegate(credential: URLCredential(user: "me", password: "secret", persistence: .none))
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        let state = try await delegate.end()
        #expect(state.events == ["challenge here", "response 200"])
        #expect(state.body == Data("welcome".utf8))
    }

    @Test("Cookies are kept in the stock session's storage, and sent from there")
    func cookies() async throws {
        let server = try LoopbackServer { request in
            .text(request.headers(named: "Cookie").first ?? "").header("Set-Cookie", "taste=good")
        }
        defer { server.stop() }
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        let session = StockSession.make { $0.httpCookieStorage = storage }
        defer { session.finishTasksAndInvalidate() }
        _ = try await session.data(from: server.url("/"))
        #expect(storage?.cookies?.map(\.value) == ["good"])
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(data == Data("taste=good".utf8))
    }

    /// The stock session writes both into its requests.
    @Test("A request is sent the storage's cookies that are for it, and none if it wants none")
    func foreignCookies() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        try Self.put("plain=1", into: storage)
        try Self.put("secure=1", isSecure: true, into: storage)
        // Begins with a combining accent, which is one character with the "=" before it.
        try Self.put("accented=\u{301}1", isSecure: true, into: storage)
        try Self.put("other=1", path: "/other", into: storage)
        let session = StockSession.make { $0.httpCookieStorage = storage }
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: server.url("/"))
        _ = try await session.data(for: request)
        request.httpShouldHandleCookies = false
        _ = try await session.data(for: request)
        #expect(server.requests.map { $0.headers(named: "Cookie") } == [["plain=1"], []])
    }

    /// A cookie for the loopback address.
    private static func put(
        _ pair: String,
        path: String = "/",
        isSecure: Bool = false,
        into storage: HTTPCookieStorage?
    ) throws {
        let parts = pair.utf8.split(separator: UInt8(ascii: "=")).map { String(Substring($0)) }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: parts[0], .value: parts[1], .path: path, .domain: "127.0.0.1",
        ]
        if isSecure { properties[.secure] = "TRUE" }
        storage?.setCookie(try #require(HTTPCookie(properties: properties)))
    }

    /// What a request carries whose task is made before `change` and resumed after it.
    private static func cookiesSent(
        in request: (URL) -> URLRequest = { URLRequest(url: $0) },
        from storage: HTTPCookieStorage?,
        after change: () throws -> Void
    ) async throws -> [String] {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = StockSession.make { $0.httpCookieStorage = storage }
        defer { session.finishTasksAndInvalidate() }
        let isComplete = Gate()
        let task = session.dataTask(with: request(server.url("/"))) { _, _, _ in isComplete.open() }
        try change()
        task.resume()
        try await isComplete.wait()
        return server.requests.flatMap { $0.headers(named: "Cookie") }
    }

    @Test("Cookies are sent as they are when the task is resumed, and no others because of a change")
    func changedCookies() async throws {
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        try Self.put("plain=1", into: storage)
        try Self.put("secure=1", isSecure: true, into: storage)
        let sent = try await Self.cookiesSent(from: storage) { try Self.put("plain=2", into: storage) }
        #expect(sent == ["plain=2"])
    }

    @Test("Cookies in a field that the program has set are kept unless they are in the storage")
    func ownCookies() async throws {
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        let request: (URL) -> URLRequest = { url in
            var request = URLRequest(url: url)
            request.setValue("mine=1; stored=1", forHTTPHeaderField: "Cookie")
            return request
        }
        let sent = try await Self.cookiesSent(in: request, from: storage) { try Self.put("stored=2", into: storage) }
        #expect(sent == ["mine=1; stored=2"])
    }

    @Test("A session that sets no cookies sends a Cookie field that the program has made from the storage")
    func cookiesByHand() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        try Self.put("plain=1", into: storage)
        let session = StockSession.make {
            $0.httpCookieStorage = storage
            $0.httpShouldSetCookies = false
        }
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: server.url("/"))
        let cookies = try #require(storage?.cookies(for: server.url("/")))
        for (name, value) in HTTPCookie.requestHeaderFields(with: cookies) {
            request.setValue(value, forHTTPHeaderField: name)
        }
        _ = try await session.data(for: request)
        #expect(server.requests.map { $0.headers(named: "Cookie") } == [["plain=1"]])
    }

    @Test("The delegate decides about what is stored in the cache")
    func caching() async throws {
        let server = try LoopbackServer { _ in .text("hello").header("Cache-Control", "max-age=60") }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate) {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        #expect(try await delegate.end().events == ["response 200", "caches 5 bytes"])
        session.dataTask(with: server.url("/")).resume()
        try await delegate.state.wait { $0.ends.count == 2 }
        #expect(server.requestCount == 2)
    }

    @Test("A task begins no sooner than it was told, and the delegate may change its request then")
    func delay() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        let date = Date(timeIntervalSinceNow: 0.2)
        (task as any Delayable).earliestBeginDate = date
        task.resume()
        #expect(try await delegate.end().events == ["begins", "response 200"])
        #expect(Date() >= date)
        #expect(server.requests.map { $0.headers(named: "X-Late") } == [["yes"]])
    }

    @Test("Cancelling ends the transfer, and the task with it")
    func cancel() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("never").after([.waitFor(gate)]) }
        defer {
            gate.open()
            server.stop()
        }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        task.cancel()
        #expect(try await delegate.end().ends == [.cancelled])
    }

    @Test("A suspended task goes on where it was")
    func suspend() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        task.suspend()
        task.resume()
        gate.open()
        let state = try await delegate.end()
        #expect(state.ends == [nil])
        #expect(state.body == Data("hello".utf8))
        #expect(server.requestCount == 1)
    }

    @Test("A task that is suspended and resumed before it begins runs, though the stock module reports each only later")
    func suspendEarly() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let cache = SlowCache(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate) { $0.urlCache = cache }
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        task.suspend()
        task.resume()
        cache.gate.open()
        let state = try await delegate.end()
        #expect(state.ends == [nil])
        #expect(state.body == Data("hello".utf8))
    }

    @Test("Errors are URLErrors")
    func failure() async throws {
        let server = try LoopbackServer { _ in .text("gone") }
        let url = server.url("/")
        server.stop()
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
        #expect(error?.code == .cannotConnectToHost)
    }

    @Test("Sessions share nothing but the configuration: each has its own connections")
    func connections() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        for _ in 0..<2 {
            let session = StockSession.make()
            _ = try await session.data(from: server.url("/"))
            _ = try await session.data(from: server.url("/"))
            session.finishTasksAndInvalidate()
        }
        #expect(server.connectionCount == 2)
        #expect(server.requestCount == 4)
    }
}

/// Has no answer before its gate is open: until then, the stock module doesn't call the protocol.
private final class SlowCache: URLCache, @unchecked Sendable {
    // @unchecked is true because the property never changes.
    let gate = Gate()

    override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        gate.waitBlocking()
        return nil
    }
}

/// The stock module deprecates the property, for it has no effect on its own transport.
private protocol Delayable: AnyObject {
    var earliestBeginDate: Date? { get set }
}

extension URLSessionTask: Delayable {}
