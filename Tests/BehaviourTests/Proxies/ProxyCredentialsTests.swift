import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Credentials set for a proxy", .timeLimit(.minutes(1)))
struct ProxyCredentialsTests {
    @Test("A proxy's credentials answer its challenge without a question, and are sent ahead from then on")
    func answering() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate()
        let session = URLSession.through(proxy.settings(user: "user", password: "secret"), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "openly http://a.example/")
        #expect(await session.load("http://b.example/").text == "openly http://b.example/")
        #expect(proxy.shown == [nil, Guard.token(), Guard.token()])
        #expect(proxy.server.requests.allSatisfy { $0.header("Authorization") == nil })
        #expect(delegate.challenges.value.isEmpty)
    }

    @Test("If a proxy's credentials are wrong, the delegate is asked")
    func wrong() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.through(proxy.settings(user: "user", password: "wrong"), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "openly http://a.example/")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [1])
        #expect(proxy.shown == [nil, Guard.token("user", "wrong"), Guard.token()])
    }

    @Test(
        "A delegate that rejects one scheme leaves the next to the proxy's credentials, also if the 407 has no body",
        arguments: ["", "closed"]
    )
    func nextScheme(body: String) async throws {
        let proxy = try ScriptedProxy { request in
            guard request.header("Proxy-Authorization") != Guard.token() else { return nil }
            return .text(body, status: 407).headers([
                "Proxy-Authenticate": #"Digest realm="gate", nonce="n", qop="auth""#,
                "Proxy-Authenticate": #"Basic realm="gate""#,
            ])
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.rejectProtectionSpace, nil) })
        let session = URLSession.through(proxy.settings(user: "user", password: "secret"), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "openly http://a.example/")
        #expect(delegate.challenges.value.map(\.space.authenticationMethod) == [NSURLAuthenticationMethodHTTPDigest])
        #expect(proxy.shown.count == 3 && proxy.shown.last == Guard.token())
    }

    @Test("If a proxy's credentials are wrong and there is no delegate, the 407 is delivered")
    func delivered() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(user: "user", password: "wrong"))
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://a.example/")
        #expect(result.response?.statusCode == 407 && result.text == "closed" && result.error == nil)
    }

    @Test(
        "A proxy's credentials don't keep a response out of the cache, with a tunnel or without",
        arguments: [true, false]
    )
    func cached(tunnel: Bool) async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: tunnel, user: "user", password: "secret"))
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/"))
        let text = try #require(await session.load(url).text)
        let stored = await session.load(URLRequest(url: url, cachePolicy: .returnCacheDataDontLoad))
        #expect(stored.text == text, "\(String(describing: stored.error))")
    }

    @Test("A body is sent again after the proxy's challenge")
    func bodies() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(user: "user", password: "secret"))
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/"))
        let result = await session.load(URLRequest(url, method: "POST", body: Data("body".utf8)))
        #expect(result.response?.statusCode == 200)
        #expect(proxy.server.requests.map(\.text) == ["body", "body"])
    }

    @Test("A redirect to a host of another proxy, or of none, takes none of the credentials along")
    func strangers() async throws {
        let server = try LoopbackServer { _ in .text("directly") }
        defer { server.stop() }
        let second = try ScriptedProxy { request in
            guard request.target.contains("b.example") else { return nil }
            guard request.header("Proxy-Authorization") != nil else {
                return .text("", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
            }
            return .redirect(to: server.url("/"))
        }
        defer { second.stop() }
        let first = try ScriptedProxy { request in
            guard request.header("Proxy-Authorization") == Guard.token() else {
                return .text("", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
            }
            return .redirect(to: "http://b.example/")
        }
        defer { first.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, URLCredential(user: "other", password: "p", persistence: .forSession))
        })
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.hosts["a.example"].proxy = .server(first.settings(user: "user", password: "secret"))
            $0.curl.hosts["b.example"].proxy = .server(second.settings())
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "directly")
        #expect(first.shown == [nil, Guard.token()])
        #expect(second.shown == [nil, Guard.token("other", "p")])
        #expect(delegate.challenges.value.map(\.space.port) == [second.server.port])
        #expect(server.requests.allSatisfy { $0.header("Proxy-Authorization") == nil })
    }

    /// A proxy that lets in who shows anything, and a session with another user of it for each of two hosts.
    private static func twoUsers(
        tunnel: Bool = false,
        _ answer: @escaping ScriptedProxy.Refusal = { _ in nil }
    ) throws -> (ScriptedProxy, URLSession) {
        let proxy = try ScriptedProxy { request in
            guard request.header("Proxy-Authorization") == nil else { return answer(request) }
            return .text("closed", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
        }
        let session = URLSession.forTest {
            for user in ["a", "b"] {
                let settings = proxy.settings(tunnel: tunnel, user: user, password: "secret")
                $0.curl.hosts["\(user).example"].proxy = .server(settings)
            }
        }
        return (proxy, session)
    }

    @Test(
        "Hosts that use one proxy as different users each use their own, with a tunnel or without",
        arguments: [true, false]
    )
    func users(tunnel: Bool) async throws {
        let (proxy, session) = try Self.twoUsers(tunnel: tunnel)
        defer {
            session.invalidateAndCancel()
            proxy.stop()
        }
        for url in ["http://a.example/", "http://b.example/", "http://a.example/", "http://b.example/"] {
            #expect(await session.load(url).text == (tunnel ? "through" : "openly \(url)"))
        }
        for user in ["a", "b"] {
            let shown = proxy.server.requests.filter { $0.target.contains("\(user).example") }
                .map { $0.header("Proxy-Authorization") }
            let token = Guard.token(user)
            // A tunnel is used again.
            let expected: [String?] = tunnel ? [nil, token] : [nil, token, token]
            #expect(shown == expected)
        }
    }

    @Test("A redirect to a host with another user of the proxy goes out as that user")
    func redirectedUser() async throws {
        let (proxy, session) = try Self.twoUsers { request in
            request.target.contains("a.example") ? .redirect(to: "http://b.example/") : nil
        }
        defer {
            session.invalidateAndCancel()
            proxy.stop()
        }
        #expect(await session.load("http://a.example/").text == "openly http://b.example/")
        #expect(proxy.shown == [nil, Guard.token("a"), nil, Guard.token("b")])
    }
}
