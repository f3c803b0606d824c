import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Digest authentication", .timeLimit(.minutes(1)))
struct AuthenticationDigestTests {
    private static let answering: @Sendable (DecidingDelegate.Challenge) -> Void = {
        $0.answer(.useCredential, .right())
    }

    @Test(
        "Digest is answered with MD5 and SHA-256, with quality of protection and without, by session or not",
        arguments: [
            DigestGuard(), DigestGuard(""), DigestGuard(#"qop="auth,auth-int", opaque="o,p", algorithm=MD5"#),
            DigestGuard(#"qop="auth", opaque="o,p", algorithm=SHA-256"#, usesSHA256: true),
            DigestGuard(#"qop="auth", opaque="o,p", algorithm=MD5-sess"#, isSession: true),
            DigestGuard(#"qop="auth", opaque="o,p", algorithm=SHA-256-sess"#, usesSHA256: true, isSession: true),
        ]
    )
    func algorithms(guardian: DigestGuard) async throws {
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/a/b?c=d%20e"))
        #expect(result.text == "open GET ")
        let asked = try await delegate.challenge(number: 1)
        #expect(asked.space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest)
        #expect(asked.space.realm == "vault")
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    private static let session = #"qop="auth", opaque="o,p", algorithm=SHA-256-sess"#

    @Test(
        "Later requests go on counting with the nonce, wherever they go, and with the key of their session",
        arguments: [DigestGuard(), DigestGuard(session, usesSHA256: true, isSession: true)]
    )
    func ahead(guardian: DigestGuard) async throws {
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for path in ["/a/b", "/", "/c", ""] {
            #expect(await session.load(server.url(path)).response?.statusCode == 200)
        }
        let (data, _) = try await session.upload(for: URLRequest(server.url("/"), method: "PUT"), from: Data("x".utf8))
        #expect(data == Data("open PUT x".utf8))
        #expect(server.requestCount == 6)
        #expect(guardian.state.value.counts == ["n1": 5])
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    @Test("If the server names a domain, the credential isn't shown unasked elsewhere")
    func domain() async throws {
        let guardian = DigestGuard(#"qop="auth", opaque="o,p", domain="/in /also http://127.0.0.1:1/x""#)
        let server = try guardian.server()
        defer { server.stop() }
        let session = URLSession.forTest(delegate: DecidingDelegate(onChallenge: Self.answering))
        defer { session.invalidateAndCancel() }
        for path in ["/in/a", "/also/b", "/out"] { _ = try await session.data(from: server.url(path)) }
        #expect(server.requests.map { $0.header("Authorization") != nil } == [false, true, true, false, true])
    }

    @Test("A stale nonce is renewed without asking the delegate")
    func stale() async throws {
        let guardian = DigestGuard()
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            #expect(await session.load(server.url("/")).response?.statusCode == 200)
            guardian.expire()
        }
        #expect(delegate.challenges.value.count == 1)
        #expect(server.requestCount == 6)
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    @Test(
        "The nonce that an answer names is the next one (RFC 7616 §3.5), and leaves a session its key (§3.4.2)",
        arguments: [true, false],
        [true, false]
    )
    func nextNonce(persists: Bool, isSession: Bool) async throws {
        let guardian =
            isSession
            ? DigestGuard(Self.session, usesSHA256: true, isSession: true, namesNext: true)
            : DigestGuard(namesNext: true)
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: {
            $0.answer(.useCredential, .right(persists ? .forSession : .none))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 { #expect(await session.load(server.url("/")).response?.statusCode == 200) }
        #expect(server.requestCount == (persists ? 4 : 6))
        #expect(guardian.state.value.counts.values.allSatisfy { $0 == 1 })
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    @Test("A server that finds every nonce stale doesn't keep its client busy")
    func alwaysStale() async throws {
        let count = Watched(0)
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let rig = try Rig(delegate: delegate) { _ in
            let number = count.update {
                $0 += 1; return $0
            }
            return .status(401)
                .header("WWW-Authenticate", #"Digest realm="vault", nonce="\#(number)", qop="auth", stale=true"#)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).response?.statusCode == 401)
        #expect(rig.server.requestCount < 6)
    }

    @Test("A credential that isn't to persist is asked for with each request")
    func persistenceNone() async throws {
        let guardian = DigestGuard()
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right(.none)) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 { #expect(await session.load(server.url("/")).response?.statusCode == 200) }
        #expect(delegate.challenges.value.count == 2)
        #expect(guardian.state.value.counts == ["n1": 1, "n2": 1])
    }

    @Test("A wrong password is asked about again, and not sent twice")
    func wrong() async throws {
        let guardian = DigestGuard()
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.challenge.previousFailureCount == 0 ? .wrong() : .right())
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).response?.statusCode == 200)
        #expect(server.requestCount == 3)
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
    }

    @Test("Each of several credentials is sent again if only its nonce was stale")
    func staleEachTime() async throws {
        let users = Watched(["first", "second", "third"])
        let delegate = DecidingDelegate(onChallenge: { asked in
            let user = users.update { $0.removeFirst() }
            asked.answer(.useCredential, URLCredential(user: user, password: "secret", persistence: .forSession))
        })
        let rig = try Rig(delegate: delegate) { request in
            let answer = request.header("Authorization") ?? ""
            let isStale = answer.contains(#"nonce="old"#)
            if !isStale, answer.contains(#"username="third""#) { return .text("open") }
            let nonce = "\(isStale ? "new" : "old") \(request.ordinal)"
            let challenge = #"Digest realm="vault", nonce="\#(nonce)", qop="auth"\#(isStale ? ", stale=true" : "")"#
            return .status(401).header("WWW-Authenticate", challenge)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "open")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1, 2])
        #expect(rig.server.requestCount == 7)
    }

    @Test("A credential that has become wrong doesn't count as a failure, though it is sent again with another nonce")
    func changed() async throws {
        let isChanged = Watched(false)
        let delegate = DecidingDelegate(onChallenge: { asked in
            let new = URLCredential(user: "new", password: "secret", persistence: .forSession)
            asked.answer(.useCredential, isChanged.value ? new : .right())
        })
        let rig = try Rig(delegate: delegate) { request in
            let user = isChanged.value ? "new" : "user"
            guard request.header("Authorization")?.contains(#"username="\#(user)""#) == true else {
                let challenge = #"Digest realm="vault", nonce="\#(request.ordinal)", qop="auth""#
                return .status(401).header("WWW-Authenticate", challenge)
            }
            return .text("open")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "open")
        isChanged.update { $0 = true }
        #expect(await rig.session.load(rig.url("/")).text == "open")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 0])
        #expect(rig.server.requestCount == 5)
    }

    @Test("Many requests at once never send a nonce with the same count twice")
    func many() async throws {
        let guardian = DigestGuard()
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate) { $0.useOneConnection() }
        defer { session.invalidateAndCancel() }
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<40 { group.addTask { await session.load(server.url("/")).response?.statusCode } }
            for await status in group { #expect(status == 200) }
        }
        #expect(delegate.challenges.value.count == 1)
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    @Test(
        "If the server accepts each nonce once, tasks that run at once use one each, even if it calls none stale",
        arguments: [true, false]
    )
    func manyOnce(saysStale: Bool) async throws {
        let guardian = DigestGuard(takesNoncesOnce: true, saysStale: saysStale)
        let server = try guardian.server()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            await withTaskGroup(of: Int?.self) { group in
                for _ in 0..<40 { group.addTask { await session.load(server.url("/")).response?.statusCode } }
                for await status in group { #expect(status == 200) }
            }
        }
        #expect(delegate.challenges.value.count == 1)
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    @Test(
        "A nonce that the server accepts once is renewed after a redirect, even if the server doesn't call it stale",
        arguments: [URLCredential.Persistence.none, .forSession]
    )
    func redirectOnce(persistence: URLCredential.Persistence) async throws {
        let guardian = DigestGuard(takesNoncesOnce: true, saysStale: false)
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right(persistence)) })
        let rig = try Rig(delegate: delegate) { request in
            if let challenge = guardian.challenge(of: request) {
                return .status(401).header("WWW-Authenticate", challenge)
            }
            return request.path == "/" ? .redirect(to: "/target") : .text("open")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "open")
        #expect(delegate.challenges.value.count == 1)
        #expect(rig.server.requestCount == 4)
        #expect(guardian.state.value.mistakes.isEmpty)
    }

    @Test("A URL's own credential answers a Digest challenge without a delegate, and no other URL's")
    func urlCredential() async throws {
        let guardian = DigestGuard()
        let server = try guardian.server()
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://user:secret@127.0.0.1:\(server.port)/x"))
        #expect(await session.load(url).text == "open GET ")
        #expect(server.requests[0].header("Authorization")?.hasPrefix("Basic") == true)
        #expect(server.requests[1].header("Authorization")?.hasPrefix("Digest") == true)
        #expect(server.requestCount == 2)
        #expect(await session.load(server.url("/x")).response?.statusCode == 401)
        #expect(server.requestCount == 3)
    }

    @Test("Digest is preferred to Basic, and SHA-256 to MD5")
    func preference() async throws {
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let rig = try Rig(delegate: delegate) { request in
            request.header("Authorization") != nil
                ? .text("open")
                : .status(401).headers([
                    "WWW-Authenticate": #"Basic realm="b""#,
                    "WWW-Authenticate": #"Digest realm="d", nonce="m", qop="auth", algorithm=MD5"#,
                    "WWW-Authenticate": #"Digest realm="d", nonce="s", qop="auth", algorithm=SHA-256"#,
                ])
        }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        #expect(rig.server.requests[1].header("Authorization")?.contains("algorithm=SHA-256") == true)
        #expect(delegate.challenges.value.count == 1)
    }
}
