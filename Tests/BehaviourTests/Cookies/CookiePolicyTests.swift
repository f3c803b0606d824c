import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Who decides about cookies", .timeLimit(.minutes(1)))
struct CookiePolicyTests {
    /// Answers with the request's cookies, and sets one.
    private static func server() throws -> LoopbackServer {
        try LoopbackServer { request in
            .text(request.header("Cookie") ?? "none").header("Set-Cookie", "set=1; Path=/")
        }
    }

    /// A session whose storage holds the cookie `stored`.
    private static func session(_ configure: (URLSessionConfiguration) -> Void = { _ in }) throws -> URLSession {
        let session = URLSession.forTest(configure)
        let cookie = HTTPCookie(properties: [.name: "stored", .value: "1", .domain: "127.0.0.1", .path: "/"])
        try session.configuration.httpCookieStorage?.setCookie(#require(cookie))
        return session
    }

    private static func names(_ session: URLSession) -> Set<String> {
        Set(session.configuration.httpCookieStorage?.cookies?.map(\.name) ?? [])
    }

    @Test("A request with httpShouldHandleCookies off carries none and stores none")
    func request() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session()
        defer { session.invalidateAndCancel() }
        var request = URLRequest(server.url("/"))
        request.httpShouldHandleCookies = false
        #expect(await session.load(request).text == "none")
        #expect(Self.names(session) == ["stored"])
    }

    @Test("With httpShouldSetCookies off, cookies are stored but not sent")
    func shouldSetCookies() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session { $0.httpShouldSetCookies = false }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "none")
        #expect(Self.names(session) == ["stored", "set"])
    }

    @Test("With the policy .never, cookies are sent but not stored")
    func never() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session { $0.httpCookieAcceptPolicy = .never }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "stored=1")
        #expect(Self.names(session) == ["stored"])
    }

    @Test("The storage's own policy counts as well")
    func storagePolicy() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session { $0.httpCookieAcceptPolicy = .always }
        defer { session.invalidateAndCancel() }
        session.configuration.httpCookieStorage?.cookieAcceptPolicy = .never
        #expect(await session.load(server.url("/")).text == "stored=1")
        #expect(Self.names(session) == ["stored"])
    }

    @Test(
        "The policy for main documents refuses the cookies of other sites",
        arguments: [("http://127.0.0.1/", true), ("http://www.example.com/", false), (nil, true)]
    )
    func mainDocument(document: String?, isStored: Bool) async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session { $0.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(server.url("/"))
        request.mainDocumentURL = document.flatMap { URL(string: $0) }
        _ = await session.load(request)
        #expect(Self.names(session).contains("set") == isStored)
        session.configuration.httpCookieStorage?.cookies?.forEach {
            session.configuration.httpCookieStorage?.deleteCookie($0)
        }
    }

    @Test("The policy .always doesn't ask for the main document")
    func always() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session { $0.httpCookieAcceptPolicy = .always }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(server.url("/"))
        request.mainDocumentURL = URL(string: "http://www.example.com/")
        _ = await session.load(request)
        #expect(Self.names(session).contains("set"))
    }

    @Test("Without a storage no cookie is sent or stored, and a Cookie header set by hand goes out as it is")
    func noStorage() async throws {
        let rig = try Rig(Self.server()) { $0.httpCookieStorage = nil }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "none")
        #expect(await rig.session.load(URLRequest(rig.url("/"), headers: ["Cookie": "hand=1"])).text == "hand=1")
    }

    @Test("A Cookie header set by hand is joined by the stored cookies whose names it doesn't have")
    func byHand() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session { $0.httpCookieAcceptPolicy = .never }
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        #expect(await session.load(URLRequest(url, headers: ["Cookie": "hand=1"])).text == "hand=1; stored=1")
        #expect(await session.load(URLRequest(url, headers: ["Cookie": "stored=2"])).text == "stored=2")
    }

    @Test("A Cookie header among the configuration's is joined by the stored cookies")
    func additionalHeaders() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = try Self.session {
            $0.httpAdditionalHeaders = ["Cookie": "hand=1"]
            $0.httpCookieAcceptPolicy = .never
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "hand=1; stored=1")
    }

    @Test("Sessions with one storage share its cookies, and others don't")
    func sharing() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let first = URLSession.forTest()
        defer { first.invalidateAndCancel() }
        let second = URLSession.forTest { $0.httpCookieStorage = first.configuration.httpCookieStorage }
        defer { second.invalidateAndCancel() }
        let third = URLSession.forTest()
        defer { third.invalidateAndCancel() }
        _ = await first.load(server.url("/"))
        #expect(await second.load(server.url("/")).text == "set=1")
        #expect(await third.load(server.url("/")).text == "none")
    }

    @Test("The default configuration uses the shared storage")
    func shared() {
        #expect(URLSessionConfiguration.default.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(URLSession.shared.configuration.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(URLSessionConfiguration.ephemeral.httpCookieStorage !== HTTPCookieStorage.shared)
    }

    @Test("A storage tells which cookies a task's request carries, and stores for a task")
    func taskMethods() async throws {
        let session = try Self.session()
        defer { session.invalidateAndCancel() }
        let storage = try #require(session.configuration.httpCookieStorage)
        let url = try #require(URL(string: "http://127.0.0.1/a"))
        let task = session.dataTask(with: url)
        let deeper = HTTPCookie(properties: [.name: "deeper", .value: "1", .domain: "127.0.0.1", .path: "/a"])
        let other = HTTPCookie(properties: [.name: "other", .value: "1", .domain: "127.0.0.1", .path: "/b"])
        try storage.storeCookies([#require(deeper), #require(other)], for: task)
        let names = await withCheckedContinuation { continuation in
            storage.getCookiesFor(task) { continuation.resume(returning: $0?.map(\.name)) }
        }
        #expect(names == ["deeper", "stored"])
    }
}
