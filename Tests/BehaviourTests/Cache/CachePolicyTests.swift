import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Who decides about the cache", .timeLimit(.minutes(1)))
struct CachePolicyTests {
    /// Answers with the number of the request; 304 to any condition.
    private static func server(_ control: String) throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { request in
            let number = count.next()
            let response: LoopbackServer.Response =
                request.header("If-None-Match") == nil ? .text("\(number)") : .status(304)
            return response.headers(["Cache-Control": control, "ETag": "\"a\""])
        }
    }

    private static func request(_ url: URL, _ policy: URLRequest.CachePolicy) -> URLRequest {
        URLRequest(url: url, cachePolicy: policy)
    }

    // MARK: - Policies

    @Test("Reloading asks the server and stores what it says", arguments: [false, true])
    func reload(pastRemoteCaches: Bool) async throws {
        let rig = try Rig(Self.server("max-age=1000"))
        defer { rig.stop() }
        let policy: URLRequest.CachePolicy =
            pastRemoteCaches ? .reloadIgnoringLocalAndRemoteCacheData : .reloadIgnoringLocalCacheData
        #expect(await rig.session.load(rig.url("/")).text == "1")
        #expect(await rig.session.load(Self.request(rig.url("/"), policy)).text == "2")
        #expect(await rig.session.load(rig.url("/")).text == "2")
        #expect(rig.server.requests[1].header("If-None-Match") == nil)
        #expect(rig.server.requests[1].header("Cache-Control") == (pastRemoteCaches ? "no-cache" : nil))
        #expect(rig.server.requests[1].header("Pragma") == (pastRemoteCaches ? "no-cache" : nil))
    }

    @Test(
        "Without a cache of their own, tasks ask those on the way all the same",
        arguments: [
            (.reloadIgnoringLocalAndRemoteCacheData, "no-cache", "no-cache"),
            (.reloadRevalidatingCacheData, "max-age=0", nil),
            (.reloadIgnoringLocalCacheData, nil, nil),
        ] as [(URLRequest.CachePolicy, String?, String?)],
        ["request", "configuration", "download", "own field"]
    )
    func remoteCaches(_ sent: (policy: URLRequest.CachePolicy, control: String?, pragma: String?), of kind: String)
        async throws
    {
        let rig = try Rig(Self.server("max-age=1000")) {
            $0.urlCache = nil
            if kind == "configuration" { $0.requestCachePolicy = sent.policy }
        }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), headers: kind == "own field" ? ["Cache-Control": "min-fresh=1"] : [:])
        if kind != "configuration" { request.cachePolicy = sent.policy }
        if kind == "download" {
            let (file, _) = try await rig.session.download(for: request)
            try FileManager.default.removeItem(at: file)
        } else {
            #expect(await rig.session.load(request).text == "1")
        }
        let received = rig.server.requests[0]
        #expect(received.header("Cache-Control") == (kind == "own field" ? "min-fresh=1" : sent.control))
        #expect(received.header("Pragma") == (kind == "own field" ? nil : sent.pragma))
    }

    @Test("Else-load takes what is stored, however old, and stores whatever it can")
    func elseLoad() async throws {
        let count = Counter()
        let rig = try Rig { _ in .text("\(count.next())") }
        defer { rig.stop() }
        let request = Self.request(rig.url("/"), .returnCacheDataElseLoad)
        for _ in 1...3 { #expect(await rig.session.load(request).text == "1") }
        #expect(await rig.session.load(rig.url("/")).text == "2")
    }

    @Test("Don't-load takes what is stored, and never asks the server")
    func dontLoad() async throws {
        let rig = try Rig(Self.server("max-age=0"))
        defer { rig.stop() }
        let request = Self.request(rig.url("/"), .returnCacheDataDontLoad)
        let failed = await rig.session.load(request)
        #expect(failed.error?.code == .resourceUnavailable)
        #expect(failed.error?.failingURL == rig.url("/"))
        #expect(failed.response == nil)
        _ = await rig.session.load(rig.url("/"))
        #expect(await rig.session.load(request).text == "1")
        #expect(rig.server.requestCount == 1)
    }

    @Test("Don't-load fails for everything that has no part in the cache", arguments: ["no cache", "POST", "download"])
    func dontLoadWithout(kind: String) async throws {
        let rig = try Rig(Self.server("max-age=1000")) { if kind == "no cache" { $0.urlCache = nil } }
        defer { rig.stop() }
        var request = Self.request(rig.url("/"), .returnCacheDataDontLoad)
        if kind == "POST" { request.httpMethod = "POST" }
        let sent = request
        let error = await #expect(throws: URLError.self) {
            if kind == "download" {
                _ = try await rig.session.download(for: sent)
            } else {
                _ = try await rig.session.data(for: sent)
            }
        }
        #expect(error?.code == .resourceUnavailable)
        #expect(rig.server.requestCount == 0)
    }

    @Test("With a cache, only-if-cached fails a GET for which nothing is stored, and otherwise is sent like any field")
    func onlyIfCached() async throws {
        let rig = try Rig(Self.server("max-age=1000"))
        defer { rig.stop() }
        func load(_ method: String, _ body: Data? = nil) async -> HandlerResult {
            await rig.session.load(
                URLRequest(rig.url("/"), method: method, headers: ["Cache-Control": "only-if-cached"], body: body)
            )
        }
        #expect(await load("GET").error?.code == .resourceUnavailable)
        let download = URLRequest(rig.url("/"), headers: ["Cache-Control": "only-if-cached"])
        let error = await #expect(throws: URLError.self) { _ = try await rig.session.download(for: download) }
        #expect(error?.code == .resourceUnavailable)
        // Nothing is ever stored for a URL with a user name.
        let url = try #require(URL(string: "http://user@127.0.0.1:\(rig.server.port)/"))
        let named = URLRequest(url, headers: ["Cache-Control": "only-if-cached"])
        #expect(await rig.session.load(named).error?.code == .resourceUnavailable)
        #expect(rig.server.requestCount == 0)
        #expect(await load("GET", Data("body".utf8)).text == "1")
        #expect(await load("POST").text == "2")
        #expect(await rig.session.load(rig.url("/")).text == "3")
        #expect(await load("GET").text == "3")
        let received = rig.server.requests.map { $0.header("Cache-Control") }
        #expect(received == ["only-if-cached", "only-if-cached", nil])
    }

    @Test("Without a cache, only-if-cached is sent like any field")
    func onlyIfCachedWithout() async throws {
        let rig = try Rig(Self.server("max-age=1000")) { $0.urlCache = nil }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), headers: ["Cache-Control": "only-if-cached"])
        #expect(await rig.session.load(request).text == "1")
        #expect(rig.server.requests.map { $0.header("Cache-Control") } == ["only-if-cached"])
    }

    @Test("Don't-load fails for what FTP would have to bring, with a cache and without", arguments: [true, false])
    func dontLoadOverFTP(hasCache: Bool) async throws {
        let server = try ScriptedFTPServer(Data("content".utf8))
        defer { server.stop() }
        let session = URLSession.forTest { if !hasCache { $0.urlCache = nil } }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            try await session.data(for: Self.request(server.url(), .returnCacheDataDontLoad))
        }
        #expect(error?.code == .resourceUnavailable)
        #expect(error?.failingURL == server.url())
        #expect(server.connectionCount == 0)
    }

    @Test("Revalidating asks the server even for what is fresh")
    func revalidate() async throws {
        let rig = try Rig(Self.server("max-age=1000"))
        defer { rig.stop() }
        for _ in 1...3 {
            #expect(await rig.session.load(Self.request(rig.url("/"), .reloadRevalidatingCacheData)).text == "1")
        }
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, "\"a\"", "\"a\""])
    }

    @Test("The configuration's policy counts for requests that have none of their own")
    func configuration() async throws {
        let rig = try Rig(Self.server("max-age=1000")) { $0.requestCachePolicy = .reloadIgnoringLocalCacheData }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "1")
        #expect(await rig.session.load(URLRequest(rig.url("/"))).text == "2")
        #expect(await rig.session.load(Self.request(rig.url("/"), .returnCacheDataElseLoad)).text == "2")
    }

    @Test("A request's own Cache-Control counts")
    func directives() async throws {
        let rig = try Rig(Self.server("max-age=1000"))
        defer { rig.stop() }
        func load(_ control: String) async -> String? {
            await rig.session.load(URLRequest(rig.url("/"), headers: ["Cache-Control": control])).text
        }
        #expect(await load("no-store") == "1")
        #expect(await load("max-age=100") == "2")
        #expect(await load("max-age=100") == "2")
        #expect(await load("no-cache") == "2")
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, nil, "\"a\""])
    }

    // MARK: - What else makes a difference

    @Test("A response that varies answers only requests of its kind")
    func vary() async throws {
        let rig = try Rig { request in
            .text(request.header("X-Kind") ?? "none").headers(["Cache-Control": "max-age=1000", "Vary": "X-Kind"])
        }
        defer { rig.stop() }
        for kind in ["a", "a", "b", "b", "a"] {
            #expect(await rig.session.load(URLRequest(rig.url("/"), headers: ["X-Kind": kind])).text == kind)
        }
        #expect(await rig.session.load(rig.url("/")).text == "none")
        #expect(rig.server.requestCount == 4)
    }

    @Test("A response may vary by the cookies that go out")
    func varyByCookie() async throws {
        let rig = try Rig { request in
            .text(request.header("Cookie") ?? "none").headers(["Cache-Control": "max-age=1000", "Vary": "Cookie"])
        }
        defer { rig.stop() }
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "none") }
        let cookie = HTTPCookie(properties: [.name: "a", .value: "1", .domain: "127.0.0.1", .path: "/"])
        try rig.session.configuration.httpCookieStorage?.setCookie(#require(cookie))
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "a=1") }
        #expect(rig.server.requestCount == 2)
    }

    @Test("A response for one user is not given to another, with Vary or without")
    func credentials() async throws {
        let rig = try Rig { request in
            .text(request.header("Authorization") ?? "nobody").header("Cache-Control", "max-age=1000")
        }
        defer { rig.stop() }
        for user in ["Bearer a", "Bearer a", "Bearer b"] {
            #expect(await rig.session.load(URLRequest(rig.url("/"), headers: ["Authorization": user])).text == user)
        }
        #expect(await rig.session.load(rig.url("/")).text == "nobody")
        #expect(rig.server.requestCount == 3)
    }

    @Test("A successful change makes what is stored worthless", arguments: ["POST", "PUT", "DELETE"])
    func invalidation(method: String) async throws {
        let count = Counter()
        let rig = try Rig { request in
            request.method == "GET"
                ? .text("\(count.next())").header("Cache-Control", "max-age=1000")
                : .status(request.path == "/refused" ? 403 : 204).header("Location", "/other")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "1")
        #expect(await rig.session.load(rig.url("/other")).text == "2")
        #expect(await rig.session.load(rig.url("/refused")).text == "3")
        _ = await rig.session.load(URLRequest(rig.url("/"), method: method))
        _ = await rig.session.load(URLRequest(rig.url("/refused"), method: method))
        #expect(await rig.session.load(rig.url("/")).text == "4")
        #expect(await rig.session.load(rig.url("/other")).text == "5")
        #expect(await rig.session.load(rig.url("/refused")).text == "3")
    }

    @Test("A redirect's target comes from the cache as well")
    func redirect() async throws {
        let rig = try Rig { request in
            request.path == "/from"
                ? .redirect(to: "/to") : .text("arrived").header("Cache-Control", "max-age=1000")
        }
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/to"))
        let result = await rig.session.load(rig.url("/from"))
        #expect(result.text == "arrived")
        #expect(result.response?.url == rig.url("/to"))
        #expect(rig.server.requests.map(\.path) == ["/to", "/from"])
    }

    @Test("A redirect that the delegate didn't follow is no answer for others")
    func refusedRedirect() async throws {
        let delegate = RefusingDelegate()
        let rig = try Rig { request in
            request.path == "/from"
                ? .redirect(to: "/to", status: 301).header("Cache-Control", "max-age=1000") : .text("arrived")
        }
        defer { rig.stop() }
        let (_, response) = try await rig.session.data(from: rig.url("/from"), delegate: delegate)
        #expect((response as? HTTPURLResponse)?.statusCode == 301)
        #expect(await rig.session.load(rig.url("/from")).text == "arrived")
    }

    @Test("A response to a request with a password isn't given to a session without it")
    func challenges() async throws {
        let rig = try Rig { request in
            request.header("Authorization") == nil
                ? .status(401).headers(["WWW-Authenticate": "Basic realm=\"r\"", "Cache-Control": "max-age=1000"])
                : .text("secret").header("Cache-Control", "max-age=1000")
        }
        defer { rig.stop() }
        let other = URLSession.forTest { $0.urlCache = rig.session.configuration.urlCache }
        defer { other.invalidateAndCancel() }
        let url = try #require(URL(string: "http://user:password@127.0.0.1:\(rig.server.port)/"))
        #expect(await rig.session.load(url).text == "secret")
        #expect(await rig.session.load(rig.url("/")).response != nil)
        #expect(await other.load(rig.url("/")).response?.statusCode == 401)
    }

    @Test("A guest's response that arrives after a login isn't given to the user")
    func login() async throws {
        let gate = Gate()
        let rig = try Rig(delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })) { request in
            let isUser = request.header("Authorization") != nil
            if request.path == "/login" {
                return isUser ? .text("in") : .status(401).header("WWW-Authenticate", "Basic realm=vault")
            }
            let page = isUser ? [LoopbackServer.Step.bytes("user!")] : [.waitFor(gate), .bytes("guest")]
            return .pieces(page).headers(["Content-Length": "5", "Cache-Control": "max-age=1000"])
        }
        defer { rig.stop() }
        async let guest = rig.session.load(rig.url("/page"))
        try await rig.server.waitForRequests(1)
        #expect(await rig.session.load(rig.url("/login")).text == "in")
        gate.open()
        #expect(await guest.text == "guest")
        #expect(await rig.session.load(rig.url("/page")).text == "user!")
    }

    @Test("A suspended task gets a stored response when it is resumed, and a cancelled one gets none")
    func suspended() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(Self.server("max-age=1000"), delegate: delegate)
        defer { rig.stop() }
        for _ in 1...20 {
            let task = rig.session.dataTask(with: rig.url("/"))
            task.resume()
            task.suspend()
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("1".utf8))
            let cancelled = rig.session.dataTask(with: rig.url("/"))
            // Else it could be over before it is cancelled.
            rig.session.delegateQueue.isSuspended = true
            cancelled.resume()
            cancelled.cancel()
            rig.session.delegateQueue.isSuspended = false
            #expect(try await delegate.completion(of: cancelled)?.code == .cancelled)
        }
    }
}

private final class RefusingDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

extension URLError {
    fileprivate var failingURL: URL? { userInfo[NSURLErrorFailingURLErrorKey] as? URL }
}
