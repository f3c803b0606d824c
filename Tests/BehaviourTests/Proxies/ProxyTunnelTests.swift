import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP proxies' tunnels", .timeLimit(.minutes(1)))
struct ProxyTunnelTests {
    @Test("The proxy is asked for the host and port alone, and sees nothing of the request")
    func connect() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/secret?x"))
        let headers = ["Authorization": "Bearer token", "Proxy-Authorization": "Basic mine", "User-Agent": "me"]
        let result = await session.load(URLRequest(url, headers: headers))
        #expect(result.text == "through")
        let request = try #require(proxy.server.requests.first)
        let lines = String(decoding: request.rawHead, as: UTF8.self).components(separatedBy: "\r\n").sorted()
        #expect(
            lines == [
                "", "", "CONNECT a.example:80 HTTP/1.1", "Host: a.example:80", "Proxy-Authorization: Basic mine",
                "Proxy-Connection: Keep-Alive", "User-Agent: me",
            ]
        )
        let inside = try #require(proxy.tunnelled.value.first)
        #expect(inside.hasPrefix("GET /secret?x HTTP/1.1\r\n") && inside.contains("Authorization: Bearer token\r\n"))
        #expect(!inside.contains("Proxy-"))
    }

    @Test("A tunnel is used again, and the metrics tell of the proxy")
    func reuse() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
        let url = try #require(URL(string: "http://a.example/2"))
        let metrics = try await MetricsTests.metrics(of: URLRequest(url: url), in: session)
        #expect(metrics.transactionMetrics.map(\.isProxyConnection) == [true])
        #expect(metrics.transactionMetrics.map(\.isReusedConnection) == [true])
        #expect(proxy.server.requestCount == 1)
        #expect(await session.load("http://b.example/").text == "through")
        #expect(proxy.server.requests.map(\.target) == ["a.example:80", "b.example:80"])
    }

    @Test(
        "A proxy's refusal is an error that says so, and no reason to wait for connectivity",
        arguments: [403, 502, 503]
    )
    func refusal(status: Int) async throws {
        let proxy = try ScriptedProxy { _ in .text("no", status: status) }
        defer { proxy.stop() }
        let session = URLSession.forTest {
            $0.curl.proxy = .server(proxy.settings(tunnel: true))
            $0.waitsForConnectivity = true
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://a.example/")
        #expect(result.response == nil)
        let error = try #require(result.error)
        #expect(error.code == .cannotConnectToHost && error.proxyStatus == status && error.curlCode != nil)
        #expect(error.phase == "connecting")
        #expect(error.localizedDescription.contains("\(status)"))
    }

    @Test("Nonsense in place of a proxy's answer fails the task")
    func nonsense() async throws {
        let proxy = try ScriptedProxy { _ in .raw([.bytes("SSH-2.0-OpenSSH_9.2\r\n\r\n"), .close]) }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").error != nil)
    }

    @Test("A proxy's answer in another version than HTTP/1 is a bad response, and no lost connection")
    func version() async throws {
        let proxy = try ScriptedProxy { _ in .raw([.bytes("HTTP/2 200 OK\r\n\r\n"), .never]) }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").error?.code == .badServerResponse)
        let socket = session.webSocketTask(with: try #require(URL(string: "ws://a.example/")))
        socket.resume()
        await #expect { try await socket.receive() } throws: { error in
            let text = (error as? URLError)?.localizedDescription
            return (error as? URLError)?.code == .badServerResponse && text?.contains("not valid") == true
        }
    }

    @Test("A NUL in a proxy's answer is a bad response, and not an error of the program")
    func unparsable() async throws {
        let proxy = try ScriptedProxy { _ in .raw([.bytes("HTTP/1.1 200 OK\r\nX-A: b\0c\r\n\r\n"), .close]) }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").error?.code == .badServerResponse)
    }

    @Test(
        "A length in the answer of a proxy that opens a tunnel makes no difference, not even a wrong one",
        arguments: ["Content-Length: 7", "Content-Length: -1", "Transfer-Encoding: identity\r\nContent-Length: 0"]
    )
    func length(fields: String) async throws {
        let proxy = try ScriptedProxy(opening: fields)
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
    }

    @Test("A line of a proxy's answer that is too long for libcurl is a bad response, and no lost connection")
    func longLine() async throws {
        let field = "X-A: " + String(repeating: "a", count: 20_000)
        let proxy = try ScriptedProxy { _ in .raw([.bytes("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n"), .never]) }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").error?.code == .badServerResponse)
    }

    // MARK: - Challenges

    @Test("A proxy's challenge is put to the delegate, and the answer is sent ahead from then on")
    func challenge() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
        #expect(await session.load("http://b.example/").text == "through")
        let asked = try #require(delegate.challenges.value.first)
        #expect(delegate.challenges.value.count == 1 && asked.status == 407)
        #expect(asked.space.isProxy() && asked.space.proxyType == NSURLProtectionSpaceHTTPSProxy)
        #expect(asked.space.host == "127.0.0.1" && asked.space.port == proxy.server.port)
        #expect(asked.space.realm == "gate")
        #expect(asked.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
        #expect(proxy.shown == [nil, Guard.token(), Guard.token()])
        #expect(proxy.tunnelled.value.allSatisfy { !$0.contains("uthorization") })
    }

    @Test("Wrong answers are counted, until the delegate gives up")
    func wrong() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            let count = asked.challenge.previousFailureCount
            count < 2 ? asked.answer(.useCredential, .wrong(count)) : asked.answer(.performDefaultHandling, nil)
        })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://a.example/")
        #expect(result.response == nil && result.error?.code == .userAuthenticationRequired)
        #expect(result.error?.proxyStatus == 407 && result.error?.curlCode != nil)
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1, 2])
        #expect(proxy.server.requestCount == 3)
    }

    @Test("A nonce that is always stale is refused after a while, however often libcurl would try again")
    func alwaysStale() async throws {
        let proxy = try ScriptedProxy { request in
            let challenge = #"Digest realm="gate", nonce="\(UUID())", qop="auth", stale=true"#
            return .text("closed", status: 407).header("Proxy-Authenticate", challenge)
        }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true, user: "user", password: "secret"))
        defer { session.invalidateAndCancel() }
        let error = await session.load("http://a.example/").error
        #expect(error?.code == .userAuthenticationRequired && error?.proxyStatus == 407)
        #expect(proxy.server.requestCount < 30)
    }

    @Test(
        "A proxy's challenge that isn't or can't be answered is an error",
        arguments: [#"Basic realm="gate""#, "Bearer", ""]
    )
    func unanswered(challenge: String) async throws {
        let proxy = try ScriptedProxy { _ in
            let response = LoopbackServer.Response.text("closed", status: 407)
            return challenge.isEmpty ? response : response.header("Proxy-Authenticate", challenge)
        }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        let error = await session.load("http://a.example/").error
        #expect(error?.code == .userAuthenticationRequired && error?.proxyStatus == 407)
    }

    @Test(
        "A 407 from a tunnel is a response, and has no body only if the proxy hasn't asked for credentials that are set",
        arguments: [nil, "user"],
        [false, true]
    )
    func serversChallenge(user: String?, asks: Bool) async throws {
        let answer = "HTTP/1.1 407 X\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 4\r\n\r\nbody"
        let proxy = try ScriptedProxy(throughTunnel: answer) { request in
            guard asks, request.header("Proxy-Authorization") != Guard.token() else { return nil }
            return .text("closed", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let settings = proxy.settings(tunnel: true, user: user, password: user.map { _ in "secret" })
        let session = URLSession.through(settings, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://a.example/")
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 407)
        #expect(result.text == (user != nil && !asks ? "" : "body"))
        #expect(delegate.challenges.value.count == (user == nil && asks ? 1 : 0))
        #expect(proxy.tunnelled.value.allSatisfy { !$0.contains("Proxy-Authorization") })
    }

    @Test(
        "A proxy that sends an interim response before its answer is named, since libcurl makes no tunnel then",
        arguments: [100, 103]
    )
    func interim(status: Int) async throws {
        let proxy = try ScriptedProxy { request in
            guard request.method == "CONNECT" else { return nil }
            return .raw([.bytes("HTTP/1.1 \(status) Wait\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), .never])
        }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        let error = await session.load("http://a.example/").error
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.proxyStatus == status)
        #expect(error?.localizedDescription.contains("interim") == true)
        #expect(proxy.server.requestCount == 1)
    }

    @Test("A proxy that closes the connection with its challenge is asked on another")
    func closing() async throws {
        let proxy = try ScriptedProxy { request in
            guard request.header("Proxy-Authorization") != Guard.token() else { return nil }
            return .text("closed", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#).closing()
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        for settings in [proxy.settings(tunnel: true), proxy.settings(tunnel: true, user: "user", password: "secret")] {
            let session = URLSession.through(settings, delegate: delegate)
            defer { session.invalidateAndCancel() }
            #expect(await session.load("http://a.example/").text == "through")
        }
        #expect(proxy.shown == [nil, Guard.token(), nil, Guard.token()])
        #expect(delegate.challenges.value.count == 1)
    }

    /// A proxy that wants Digest for its tunnels, and closes each connection on which it asks, as is usual with HTTP/1.0.
    private static func digestProxy(_ guardian: DigestGuard) throws -> ScriptedProxy {
        try ScriptedProxy { request in
            guardian.proxyChallenge(of: request).map { challenge in
                let head = "HTTP/1.0 407 Who?\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n"
                return .raw([.bytes(head), .close])
            }
        }
    }

    @Test(
        "A proxy's Digest challenge is answered on another connection as well, and the answer is then sent ahead",
        arguments: [DigestGuard(), DigestGuard(#"qop="auth", opaque="o,p", algorithm=SHA-256"#, usesSHA256: true)],
        [false, true]
    )
    func digest(guardian: DigestGuard, isConfigured: Bool) async throws {
        let proxy = try Self.digestProxy(guardian)
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let settings = proxy.settings(
            tunnel: true,
            user: isConfigured ? "user" : nil,
            password: isConfigured ? "secret" : nil
        )
        let session = URLSession.through(settings, delegate: delegate) {
            $0.curl.hosts["d.example"].names.connectTo = CurlOptions.Endpoint("::1", port: 81)
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
        for host in ["B.example", "[::1]:8080", "d.example"] {
            #expect(await session.load("http://\(host)/").text == "through")
        }
        #expect(proxy.shown.map { $0 == nil } == [true, false, false, false, false])
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == (isConfigured ? [] : [0]))
        #expect(guardian.state.value.mistakes == [])
        // A nonce that is too old costs another tunnel, and no question.
        guardian.expire()
        #expect(await session.load("http://c.example/").text == "through")
        #expect(proxy.server.requestCount == 7)
        #expect(delegate.challenges.value.count == (isConfigured ? 0 : 1))
    }

    @Test("A wrong answer to a proxy's Digest challenge is counted")
    func wrongDigest() async throws {
        let proxy = try Self.digestProxy(DigestGuard())
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.challenge.previousFailureCount == 0 ? .wrong() : .right())
        })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
        #expect(proxy.server.requestCount == 3)
    }

    @Test("The proxy may name the next nonce, and a server behind the tunnel may not", arguments: [false, true])
    func nextNonce(isServers: Bool) async throws {
        let guardian = DigestGuard()
        let field = #"Proxy-Authentication-Info: nextnonce="n77""#
        let answer = "HTTP/1.1 200 OK\r\n\(isServers ? field : "X: y")\r\nContent-Length: 7\r\n\r\nthrough"
        let proxy = try ScriptedProxy(throughTunnel: answer, opening: isServers ? nil : field) {
            guard $0.header("Proxy-Authorization")?.contains("n77") != true else { return nil }
            return guardian.proxyChallenge(of: $0).map { .text("", status: 407).header("Proxy-Authenticate", $0) }
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        for host in ["a.example", "b.example"] { #expect(await session.load("http://\(host)/").text == "through") }
        let nonces = proxy.shown.map { $0?.contains(#"nonce="n77""#) }
        #expect(nonces == [nil, false, !isServers])
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("A credential for one task alone serves its redirects through the proxy, and no other task")
    func single() async throws {
        let answer = "HTTP/1.1 302 Go\r\nLocation: http://b.example/\r\nContent-Length: 0\r\n\r\n"
        let proxy = try ScriptedProxy(throughTunnel: answer) { request in
            if request.header("Proxy-Authorization") == Guard.token() {
                return request.target == "b.example:80" ? .text("no", status: 403) : nil
            }
            return .text("closed", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right(.none)) })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").error?.proxyStatus == 403)
        #expect(delegate.challenges.value.count == 1)
        #expect(await session.load("http://c.example/").error?.proxyStatus == 403)
        #expect(delegate.challenges.value.count == 2)
    }

    @Test("A challenge can be cancelled")
    func cancelled() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.cancelAuthenticationChallenge, nil) })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").error?.code == .cancelled)
    }

    @Test("Of many tasks that are challenged at once, one asks")
    func storm() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        let texts = await withTaskGroup(of: String?.self) { group in
            for number in 0..<32 { group.addTask { await session.load("http://host\(number).example/").text } }
            return await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(texts.count == 32 && texts.allSatisfy { $0 == "through" })
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("Credentials set for a proxy are shown when it asks, before a body has begun")
    func configured() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate()
        let session = URLSession.through(
            proxy.settings(tunnel: true, user: "user", password: "secret"),
            delegate: delegate
        )
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/"))
        var request = URLRequest(url, method: "POST")
        request.httpBodyStream = InputStream(data: Data("stream".utf8))
        #expect(await session.load(request).text == "through")
        #expect(proxy.shown == [nil, Guard.token()])
        // It has proven good: the next tunnel costs no second round trip.
        #expect(await session.load("http://b.example/").text == "through")
        #expect(proxy.shown == [nil, Guard.token(), Guard.token()])
        #expect(delegate.challenges.value.isEmpty)
    }

    @Test("If credentials set for a tunnel's proxy are wrong, the delegate is asked")
    func configuredWrong() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.through(
            proxy.settings(tunnel: true, user: "user", password: "wrong"),
            delegate: delegate
        )
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
        #expect(proxy.shown.last == Guard.token())
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [1])
    }

    @Test("With connectTo, every request to the host goes through a tunnel, for which the proxy may want credentials")
    func elsewhere() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(user: "user", password: "secret")) {
            $0.curl.hosts["a.example"].names.connectTo = CurlOptions.Endpoint("b.example", port: 81)
            $0.httpAdditionalHeaders = ["X-Key": "k"]
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "through")
        #expect(
            proxy.server.requests.map { "\($0.method) \($0.target)" } == [
                "CONNECT b.example:81", "CONNECT b.example:81",
            ]
        )
        #expect(proxy.shown == [nil, Guard.token()])
        #expect(try #require(proxy.tunnelled.value.first).contains("Proxy-Authorization") == false)
    }

    @Test("A server behind the tunnel can't ask for the proxy's credentials", arguments: [false, true])
    func impostor(connectsElsewhere: Bool) async throws {
        let answer =
            "HTTP/1.1 407 Mine\r\nProxy-Authenticate: Basic realm=\"gate\"\r\nContent-Length: 4\r\n\r\nmine"
        let proxy = try ScriptedProxy(throughTunnel: answer)
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.through(
            proxy.settings(tunnel: !connectsElsewhere, user: "user", password: "secret"),
            delegate: delegate
        ) {
            if connectsElsewhere {
                $0.curl.hosts["a.example"].names.connectTo = CurlOptions.Endpoint("b.example", port: 81)
            }
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://a.example/")
        // Its body is lost: libcurl takes it for the proxy's, and would send the request again.
        #expect(result.response?.statusCode == 407 && result.error == nil)
        #expect(proxy.tunnelled.value.count == 1)
        #expect(delegate.challenges.value.isEmpty && proxy.shown == [nil])
    }
}
