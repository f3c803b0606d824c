import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Web sockets over TLS", .timeLimit(.minutes(2)))
struct WebSocketTLSTests {
    private let nginx: TLSNginx

    init() throws {
        nginx = try TLSNginx.shared()
    }

    /// The URL at which nginx passes a web socket on to `server`.
    private func url(
        _ port: TLSNginx.Port,
        host: String = "127.0.0.1",
        to server: LoopbackServer,
        scheme: String = "wss"
    ) throws -> URL {
        try url(port, host: host, toPort: server.port, scheme: scheme)
    }

    private func url(
        _ port: TLSNginx.Port,
        host: String = "127.0.0.1",
        toPort target: Int,
        scheme: String = "wss"
    ) throws -> URL {
        let address = nginx.url(port, host: host, "/websocket/\(target)/").absoluteString
        return try #require(URL(string: scheme + address.dropFirst("https".count)))
    }

    /// What is wrong; nil where a message came back.
    private func failure(of task: URLSessionWebSocketTask) async throws -> URLError.Code? {
        task.resume()
        do {
            try await task.send(.string("a"))
            #expect(try await task.receiveText() == "a")
            return nil
        } catch let error as URLError {
            return error.code
        }
    }

    @Test("A certificate that one task's delegate has accepted is put to another's, even if TLS sessions are resumed")
    func noResumption() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("SSL_SESSIONID_CACHE", true) }
        }
        defer { session.invalidateAndCancel() }
        for accepts in [true, false] {
            let delegate = DecidingDelegate(onChallenge: { challenge in
                guard accepts else { return challenge.answer(.cancelAuthenticationChallenge, nil) }
                challenge.answer(.useCredential, challenge.space.serverTrust.map { URLCredential(trust: $0) })
            })
            let task = session.webSocketTask(with: try url(.showing(.selfsigned), to: server))
            task.delegate = delegate
            #expect(try await failure(of: task) == (accepts ? nil : .cancelled))
            #expect(delegate.challenges.value.count == 1)
        }
    }

    @Test(
        "The delegate's answer about the server's certificate counts, and comes before the handshake",
        arguments: [true, false]
    )
    func trust(accepts: Bool) async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { challenge in
            guard accepts else { return challenge.answer(.cancelAuthenticationChallenge, nil) }
            challenge.answer(.useCredential, challenge.space.serverTrust.map { URLCredential(trust: $0) })
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url(.showing(.selfsigned), to: server))
        #expect(try await failure(of: task) == (accepts ? nil : .cancelled))
        let space = try await delegate.challenge(number: 1).space
        #expect(space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
        #expect(space.protocol == "https")
        #expect(delegate.challenges.value.count == 1)
        #expect(server.requestCount == (accepts ? 1 : 0))
    }

    @Test("A redirect may lead from ws to wss, and back", arguments: [true, false])
    func redirect(toTLS: Bool) async throws {
        let target = try LoopbackServer { .webSocketEcho($0) }
        defer { target.stop() }
        let (secure, plain) = (try url(.showing(.good), to: target), target.webSocketURL("/"))
        let server = try LoopbackServer { _ in .redirect(to: toTLS ? secure : plain) }
        defer { server.stop() }
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: toTLS ? server.webSocketURL() : try url(.showing(.good), to: server))
        #expect(try await failure(of: task) == nil)
        #expect(task.currentRequest?.url == (toTLS ? secure : plain))
        #expect(server.requestCount == 1 && target.requestCount == 1)
    }

    @Test(
        "Without a delegate, an untrusted certificate opens nothing",
        arguments: [TLSSite.Certificate.selfsigned, .expired, .wronghost]
    )
    func untrusted(certificate: TLSSite.Certificate) async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url(.showing(certificate), to: server))
        let expected = await session.load(nginx.url(.showing(certificate))).error
        #expect(try await failure(of: task) == expected?.code)
        #expect(expected != nil)
        #expect(server.requestCount == 0)
    }

    @Test("A web socket's server with a pinned key is let in, and no other", arguments: [true, false])
    func pins(isRight: Bool) async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let pin = try isRight ? nginx.site.goodPin() : "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
        let session = URLSession.trusting(nginx) { $0.hosts[nginx.pattern(.showing(.good))].publicKeyPins = [pin] }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url(.showing(.good), to: server))
        let expected = isRight ? nil : await session.load(nginx.url(.showing(.good))).error
        #expect(try await failure(of: task) == expected?.code)
        #expect((expected == nil) == isRight)
        #expect(server.requestCount == (isRight ? 1 : 0))
    }

    @Test("The configuration's certificate is shown to a server that asks")
    func identity() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.trusting(nginx) {
            $0.tls.identity = .pem(certificates: .file(nginx.site.clientWithKey))
        }
        defer { session.invalidateAndCancel() }
        #expect(try await failure(of: session.webSocketTask(with: url(.asking, to: server))) == nil)
        let other = URLSession.trusting(nginx)
        defer { other.invalidateAndCancel() }
        let refused = other.webSocketTask(with: try url(.asking, to: server))
        #expect(try await failure(of: refused) == .badServerResponse)
        #expect((refused.response as? HTTPURLResponse)?.statusCode == 400)
        #expect(server.requestCount == 1)
    }

    @Test(
        "The delegate's certificate is shown to a server that asks",
        arguments: [TLSNginx.Port.asking, .askingInOldWay]
    )
    func identityChallenge(port: TLSNginx.Port) async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let credential = URLCredential(identity: .pem(certificates: .file(nginx.site.clientWithKey)))
        let delegate = DecidingDelegate(onChallenge: { challenge in
            let isAboutServer = challenge.space.authenticationMethod == NSURLAuthenticationMethodServerTrust
            let trust = challenge.space.serverTrust.map { URLCredential(trust: $0) }
            challenge.answer(.useCredential, isAboutServer ? trust : credential)
        })
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(try await failure(of: session.webSocketTask(with: url(port, to: server))) == nil)
        let methods = delegate.challenges.value.map(\.space.authenticationMethod)
        #expect(methods == [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate])
    }

    @Test("A host that asks for Strict-Transport-Security gets its web sockets over TLS, and the task shows that")
    func strictTransportSecurity() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.trusting(nginx) { $0.strictTransportSecurity = .inMemory }
        defer { session.invalidateAndCancel() }
        let announcement = nginx.url(.showing(.good), host: "localhost", "/?sts=max-age=600")
        #expect(await session.load(announcement).response?.statusCode == 200)
        let plain = try url(.showing(.good), host: "localhost", to: server, scheme: "ws")
        let task = session.webSocketTask(with: plain)
        #expect(try await failure(of: task) == nil)
        #expect(task.originalRequest?.url == plain)
        #expect(task.currentRequest?.url == (try url(.showing(.good), host: "localhost", to: server)))
    }

    /// Whether a host speaks HTTP/2 is found out with its first connection, which a web socket's can't be.
    @Test(
        "A web socket whose handshake isn't answered holds up no other request to its host",
        arguments: [false, true]
    )
    func unanswered(isStream: Bool) async throws {
        let silent = try SilentServer()
        defer { silent.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let address = try url(.showing(.good), toPort: silent.port, scheme: isStream ? "https" : "wss")
        let task: URLSessionTask =
            isStream
            ? session.dataTask(with: URLRequest(address, headers: ["Upgrade": "echo"]))
            : session.webSocketTask(with: address)
        task.resume()
        try await silent.waitForConnections(1)
        let other = nginx.url(.showing(.good))
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<20 { group.addTask { await session.load(other) } }
            for await result in group { #expect(result.response?.statusCode == 200, "\(result.error as Any)") }
        }
        #expect(task.state == .running && task.error == nil)
    }

    @Test("A program that has requests use HTTP/2 has its web sockets over HTTP/1.1 all the same")
    func httpVersion() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.trusting(nginx, delegate: delegate) {
            // CURL_HTTP_VERSION_2TLS
            $0.configureTransfer = { transfer, _ in try transfer.set("HTTP_VERSION", 4) }
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url(.http2, to: server))
        #expect(try await failure(of: task) == nil)
        task.cancel()
        #expect(try await delegate.metrics().transactionMetrics.first?.networkProtocolName == "http/1.1")
    }

    @Test("A web socket's metrics tell of the TLS handshake")
    func metrics() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url(.new, to: server))
        #expect(try await failure(of: task) == nil)
        task.cancel()
        let hop = try #require(try await delegate.metrics().transactionMetrics.first)
        let (start, end) = (try #require(hop.secureConnectionStartDate), try #require(hop.secureConnectionEndDate))
        #expect(start <= end)
        #expect(end <= (try #require(hop.requestStartDate)))
        #expect(hop.negotiatedTLSProtocolVersion == .TLSv13)
        #expect(!hop.isReusedConnection)
    }
}
