import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Authentication of web sockets", .timeLimit(.minutes(2)))
struct WebSocketAuthenticationTests {
    /// Opens a web socket for clients that answer its Digest challenge right.
    private static func guarded(_ parameters: String) throws -> LoopbackServer {
        try LoopbackServer { request in
            let shown = AuthenticationField.challenges(in: request.headers(named: "Authorization")).first
            let parts = shown?.parameters ?? [:]
            let digest = parameters.contains("SHA-256") ? MessageDigest.sha256 : .md5
            let key = digest.hex("user:vault:secret")
            let action = digest.hex("GET:\(request.target)")
            let middle = parts["qop"].map { "n1:\(parts["nc"] ?? ""):\(parts["cnonce"] ?? ""):\($0)" } ?? "n1"
            guard parts["response"] == digest.hex("\(key):\(middle):\(action)"), parts["uri"] == request.target else {
                return .text("closed", status: 401)
                    .header("WWW-Authenticate", #"Digest realm="vault", nonce="n1"\#(parameters)"#)
            }
            return .webSocketEcho(request)
        }
    }

    @Test(
        "Digest challenges are answered with the delegate's credential",
        arguments: ["", #", qop="auth", opaque="o", algorithm=MD5"#, #", qop="auth", algorithm=SHA-256"#]
    )
    func digest(parameters: String) async throws {
        let server = try Self.guarded(parameters)
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { challenge in
            challenge.answer(.useCredential, URLCredential(user: "user", password: "secret", persistence: .forSession))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let task = session.webSocketTask(with: server.webSocketURL("/chat?room=1"))
            task.resume()
            try await task.send(.string("a"))
            #expect(try await task.receiveText() == "a")
            task.cancel()
        }
        // The second web socket has shown the answer unasked.
        #expect(delegate.challenges.value.map(\.space.authenticationMethod) == [NSURLAuthenticationMethodHTTPDigest])
        #expect(delegate.challenges.value.first?.status == 401)
        #expect(server.requestCount == 3)
    }

    @Test("A Basic challenge is answered with the delegate's credential")
    func basic() async throws {
        let token = "Basic " + Data("user:secret".utf8).base64EncodedString()
        let server = try LoopbackServer { request in
            guard request.header("Authorization") == token else {
                return .text("closed", status: 401).header("WWW-Authenticate", #"Basic realm="vault""#)
            }
            return .webSocketEcho(request)
        }
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { challenge in
            challenge.answer(.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(delegate.challenges.value.map(\.space.authenticationMethod) == [NSURLAuthenticationMethodHTTPBasic])
        #expect(server.requests.map { $0.header("Authorization") } == [nil, token])
    }

    @Test("A proxy's challenge about the tunnel is answered with the delegate's credential")
    func proxy() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let proxy = try Squid.shared().server(.basic, password: nil)
        let delegate = DecidingDelegate(onChallenge: { challenge in
            challenge.answer(.useCredential, URLCredential(user: "user", password: "secret", persistence: .permanent))
        })
        let storage = URLCredentialStorage()
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.proxy = .server(proxy)
            $0.urlCredentialStorage = storage
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        let challenge = try await delegate.challenge(number: 1)
        #expect(challenge.status == 407 && challenge.space.isProxy())
        #expect(delegate.challenges.value.count == 1)
        #expect(server.requestCount == 1)
        // The tunnel has shown that it is right.
        try await eventually { !storage.allCredentials.isEmpty }
    }

    @Test("A delegate that cancels the challenge cancels the task, and one that rejects it has the answer to look at")
    func declined() async throws {
        let dispositions: [(URLSession.AuthChallengeDisposition, URLError.Code)] = [
            (.cancelAuthenticationChallenge, .cancelled), (.rejectProtectionSpace, .userAuthenticationRequired),
            (.performDefaultHandling, .userAuthenticationRequired),
        ]
        for (disposition, code) in dispositions {
            let server = try Self.guarded("")
            defer { server.stop() }
            let delegate = DecidingDelegate(onChallenge: { $0.answer(disposition, nil) })
            let session = URLSession.forTest(delegate: delegate)
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            #expect(await task.receiveError()?.code == code)
            if code != .cancelled { #expect((task.response as? HTTPURLResponse)?.statusCode == 401) }
            try await server.waitUntilNoConnections()
        }
    }

    @Test("Schemes that belong to a connection can't open one, and the task says so", arguments: ["NTLM", "Negotiate"])
    func ofConnections(scheme: String) async throws {
        let server = try LoopbackServer { _ in .text("closed", status: 401).header("WWW-Authenticate", scheme) }
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { challenge in
            challenge.answer(.useCredential, URLCredential(user: "user", password: "secret", persistence: .forSession))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        #expect(await task.receiveError()?.code == .userAuthenticationRequired)
    }
}
