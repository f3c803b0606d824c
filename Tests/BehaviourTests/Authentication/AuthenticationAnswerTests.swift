import CurlNetworking
import CurlTransport
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Answers to a challenge", .timeLimit(.minutes(1)))
struct AuthenticationAnswerTests {
    private static func result(
        _ challenge: String = #"Basic realm="vault""#,
        answer: @escaping @Sendable (DecidingDelegate.Challenge) -> Void
    ) async throws -> (HandlerResult, DecidingDelegate, [String?]) {
        let server = try Guard.basic(challenge)
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: answer)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        return (result, delegate, server.shown)
    }

    @Test("The default handling without a credential delivers the 401")
    func defaultHandling() async throws {
        let (result, delegate, shown) = try await Self.result { $0.answer(.performDefaultHandling, nil) }
        #expect(result.response?.statusCode == 401)
        #expect(result.text == "closed")
        #expect(delegate.challenges.value.count == 1)
        #expect(shown == [nil])
    }

    @Test("Using no credential delivers the 401")
    func noCredential() async throws {
        let (result, _, shown) = try await Self.result { $0.answer(.useCredential, nil) }
        #expect(result.response?.statusCode == 401)
        #expect(shown == [nil])
    }

    @Test("Cancelling the challenge ends the task as cancelled")
    func cancelling() async throws {
        let (result, _, shown) = try await Self.result { $0.answer(.cancelAuthenticationChallenge, nil) }
        #expect(result.error?.code == .cancelled)
        #expect(result.data == nil)
        #expect(shown == [nil])
    }

    @Test("Rejecting the protection space delivers the 401 where there is no other")
    func rejecting() async throws {
        let (result, delegate, shown) = try await Self.result { $0.answer(.rejectProtectionSpace, nil) }
        #expect(result.response?.statusCode == 401)
        #expect(delegate.challenges.value.count == 1)
        #expect(shown == [nil])
    }

    @Test("Rejecting it goes on to the next scheme, from the strongest to the weakest")
    func nextScheme() async throws {
        let challenge = #"Basic realm="vault", Negotiate, Digest realm="d", nonce="n", qop="auth", NTLM, Unknown x=y"#
        let (result, delegate, _) = try await Self.result(challenge) { asked in
            let isBasic = asked.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
            asked.answer(isBasic ? .useCredential : .rejectProtectionSpace, isBasic ? .right() : nil)
        }
        #expect(result.response?.statusCode == 200)
        #expect(
            delegate.challenges.value.map(\.space.authenticationMethod) == [
                NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM,
                NSURLAuthenticationMethodHTTPBasic,
            ]
        )
        #expect(delegate.challenges.value.map(\.space.realm) == ["127.0.0.1", "d", "127.0.0.1", "vault"])
    }

    @Test("Rejecting it goes on to the scheme's next realm")
    func nextRealm() async throws {
        let challenge = #"Basic realm=a, Basic realm=vault, Digest realm=d, nonce="n", Digest realm=e, nonce="m""#
        let (result, delegate, shown) = try await Self.result(challenge) { asked in
            let isLast = asked.space.realm == "vault"
            asked.answer(isLast ? .useCredential : .rejectProtectionSpace, isLast ? .right() : nil)
        }
        #expect(result.response?.statusCode == 200)
        #expect(delegate.challenges.value.map(\.space.realm) == ["d", "e", "a", "vault"])
        #expect(shown == [nil, Guard.token()])
    }

    @Test("A wrong answer for a second realm of Digest is sent once, though each refusal has another nonce")
    func wrongForNextRealm() async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isAnswered = asked.space.realm == "e" && asked.challenge.previousFailureCount == 0
            asked.answer(isAnswered ? .useCredential : .rejectProtectionSpace, isAnswered ? .wrong() : nil)
        })
        let rig = try Rig(delegate: delegate) { request in
            let challenges = ["d", "e"].map { #"Digest realm="\#($0)", nonce="\#($0)\#(request.ordinal)", qop="auth""# }
            return .text("closed", status: 401).header("WWW-Authenticate", challenges.joined(separator: ", "))
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).response?.statusCode == 401)
        #expect(delegate.challenges.value.map(\.space.realm) == ["d", "e", "e"])
        #expect(rig.server.requestCount == 2)
    }

    @Test("The default handling of a connection's scheme goes on to the next scheme as well")
    func defaultOfConnection() async throws {
        let (result, delegate, _) = try await Self.result(#"Negotiate, NTLM, Basic realm="vault""#) { asked in
            let isBasic = asked.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
            asked.answer(isBasic ? .useCredential : .performDefaultHandling, isBasic ? .right() : nil)
        }
        #expect(result.response?.statusCode == 200)
        #expect(delegate.challenges.value.count == 3)
    }

    @Test(
        "A delegate that knows only a password gets in by Basic, though Negotiate is offered first",
        arguments: [#"Negotiate, Basic realm="vault""#, #"Negotiate, NTLM, Basic realm="vault""#]
    )
    func onePassword(offers: String) async throws {
        let (result, delegate, shown) = try await Self.result(offers) { $0.answer(.useCredential, .right()) }
        #expect(result.response?.statusCode == 200)
        let first = delegate.challenges.value.first?.space.authenticationMethod
        #expect(first == (CurlLibrary.hasNegotiate ? NSURLAuthenticationMethodNegotiate : first))
        let last = try #require(delegate.challenges.value.last)
        #expect(last.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
        #expect(last.challenge.previousFailureCount == (offers.contains("NTLM") && CurlLibrary.hasNTLM ? 1 : 0))
        #expect(shown.last == Guard.token())
        // Without a ticket there is nothing to send for Negotiate.
        if !offers.contains("NTLM") { #expect(shown == [nil, Guard.token()]) }
    }

    @Test(
        "A delegate that gives its password only while nothing was refused gets in by Basic",
        .enabled(if: CurlLibrary.hasNegotiate)
    )
    func onePasswordOnce() async throws {
        let (result, _, _) = try await Self.result(#"Negotiate, Basic realm="vault""#) { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(isFirst ? .useCredential : .cancelAuthenticationChallenge, isFirst ? .right() : nil)
        }
        #expect(result.response?.statusCode == 200)
    }

    @Test("After a refused password, the same one written otherwise is tried, though Swift takes both for equal")
    func otherForm() async throws {
        let server = try Guard.basic(tokens: [Guard.token("user", "e\u{301}")])
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            let password = asked.challenge.previousFailureCount == 0 ? "\u{E9}" : "e\u{301}"
            asked.answer(.useCredential, URLCredential(user: "user", password: password, persistence: .none))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).response?.statusCode == 200)
        #expect(server.shown == [nil, Guard.token("user", "\u{E9}"), Guard.token("user", "e\u{301}")])
    }

    @Test("The answer may come later, from anywhere, and only the first counts")
    func later() async throws {
        let (result, _, shown) = try await Self.result { asked in
            DispatchQueue.global().async {
                asked.answer(.useCredential, .right())
                asked.answer(.cancelAuthenticationChallenge, nil)
            }
        }
        #expect(result.response?.statusCode == 200)
        #expect(shown.count == 2)
    }

    @Test("The idle time-out stands still until the answer")
    func afterIdleTime() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let silent = try LoopbackServer { _ in .never }
        defer { silent.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        let asked = try await delegate.challenge(number: 1)
        // Another, which is begun later, times out meanwhile.
        #expect(await session.load(silent.url("/")).error?.code == .timedOut)
        #expect(task.state == .running)
        asked.answer(.useCredential, .right())
        #expect(try await delegate.completion(of: task) == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("A delegate's answer is waited for until the resource time-out")
    func resourceTimeout() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.forTest(delegate: delegate) {
            $0.timeoutIntervalForRequest = 2
            $0.timeoutIntervalForResource = 4
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.error?.code == .timedOut)
        #expect(result.error?.localizedDescription.contains("timeoutIntervalForResource") == true)
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("The challenge's sender takes answers as well")
    func sender() async throws {
        let (used, _, _) = try await Self.result { asked in
            asked.challenge.sender?.use(.right(), for: asked.challenge)
        }
        #expect(used.response?.statusCode == 200)
        let (cancelled, _, _) = try await Self.result { $0.challenge.sender?.cancel($0.challenge) }
        #expect(cancelled.error?.code == .cancelled)
        let (without, _, _) = try await Self.result { asked in
            asked.challenge.sender?.continueWithoutCredential(for: asked.challenge)
        }
        #expect(without.response?.statusCode == 401)
        let (byDefault, _, _) = try await Self.result { asked in
            asked.challenge.sender?.performDefaultHandling(for: asked.challenge)
        }
        #expect(byDefault.response?.statusCode == 401)
        let (rejected, _, _) = try await Self.result { asked in
            asked.challenge.sender?.rejectProtectionSpaceAndContinue(with: asked.challenge)
        }
        #expect(rejected.response?.statusCode == 401)
    }

    @Test("A delegate that never answers doesn't keep its task from being cancelled, nor its session from ending")
    func silence() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        let asked = try await delegate.challenge(number: 1)
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        asked.answer(.useCredential, .right())
        let other = session.dataTask(with: server.url("/"))
        other.resume()
        _ = try await delegate.challenge(number: 2)
        session.invalidateAndCancel()
        #expect(try await delegate.completion(of: other)?.code == .cancelled)
        try await server.waitUntilNoConnections()
        #expect(server.requestCount == 2)
    }
}
