import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The authentication step, where Negotiate or NTLM is offered first")
struct ConnectionSchemeStepTests {
    final class Delegate: NSObject, URLSessionTaskDelegate {}

    /// Where tokens come from: the hosts that they were asked for, and what to call with each.
    private let asks = Watched<[(host: String, done: @Sendable (TokenRequest.Outcome) -> Void)]>([])
    let step: AuthenticationStep
    let rig: StepRig
    let owner = TicketOwner()
    let credential = URLCredential(user: "u", password: "p", persistence: .forSession)

    init() throws {
        let server = try #require(CurlOptions.ProxyServer("http://proxy.test:3128"))
        rig = StepRig(try Sample.request("http://example.com/")) {
            $0.curl.proxy = .server(server)
            $0.urlCredentialStorage = nil
        }
        rig.delegates = DelegateSet(Delegate())
        try rig.enter(owner)
        step = Self.step(asks)
    }

    private static func step(
        _ asks: Watched<[(host: String, done: @Sendable (TokenRequest.Outcome) -> Void)]>
    ) -> AuthenticationStep {
        AuthenticationStep(tokens: { host, done in asks.update { $0.append((host, done)) } })
    }

    /// The token that was asked for last is made, or can't be.
    private func makeToken(_ token: [UInt8]?) throws {
        let done = try #require(asks.value.last).done
        rig.onLoop { done(token.map { .success($0) } ?? .failure(NegotiateToken.Failure("no ticket"))) }
    }

    private func complete(_ step: AuthenticationStep) -> CompletionVerdict {
        rig.onLoop { step.complete(rig) }
    }

    /// What the next request shows the server.
    private func shown(by step: AuthenticationStep) throws -> [String] {
        let options = try #require(try rig.plan(with: step).options)
        return options.headers.filter { $0.hasPrefix("Authorization:") }
    }

    /// Receives a challenge of a server (401) or a proxy (407).
    private func receive(_ offers: String, status: Int = 401) throws {
        let field = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
        _ = try #require(try step.receive(rig.received(Sample.head(status, [field: offers])), rig).held)
    }

    private func question() throws -> ChallengeQuestion {
        guard case .challenge(let question) = rig.questions.last else { throw URLError(.unknown) }
        return question
    }

    /// What the delegate has been asked so far: methods and failures.
    private var asked: [String] {
        rig.questions.compactMap { question in
            guard case .challenge(let question) = question else { return nil }
            let challenge = question.challenge
            let method = challenge.protectionSpace.authenticationMethod
            return "\(method.dropFirst("NSURLAuthenticationMethod".count)) \(challenge.previousFailureCount)"
        }
    }

    private func answer(_ disposition: URLSession.AuthChallengeDisposition = .useCredential) throws {
        let question = try question()
        rig.onLoop { question.sender.answer(disposition, disposition == .useCredential ? credential : nil) }
    }

    @Test(
        "A delegate that answers NTLM with the credential that was refused is asked for the next scheme",
        .enabled(if: CurlLibrary.hasNTLM),
        arguments: [401, 407]
    )
    func refused(status: Int) throws {
        let offers = #"NTLM, Basic realm="r""#
        try receive(offers, status: status)
        try answer()
        _ = try rig.plan(with: step)
        try receive(offers, status: status)
        try answer()
        #expect(asked == ["NTLM 0", "NTLM 1", "HTTPBasic 1"])
        #expect(rig.released.count == 1)
        try answer()
        #expect(rig.released.count == 2 && rig.released.last?.1.next == rig.request)
        let options = try #require(try rig.plan(with: step).options)
        let field = status == 401 ? "Authorization" : "Proxy-Authorization"
        #expect(options.headers.contains("\(field): Basic \(Data("u:p".utf8).base64EncodedString())"))
        #expect(options.connectionAuthentication == nil && options.proxy.authentication == nil)
    }

    @Test("Where nothing else is offered, the response is delivered", .enabled(if: CurlLibrary.hasNTLM))
    func refusedAlone() throws {
        for _ in 0..<2 {
            try receive("NTLM")
            try answer()
            _ = try rig.plan(with: step)
        }
        #expect(asked == ["NTLM 0", "NTLM 1"])
        #expect(rig.released.last?.1.isPass == true)
    }

    @Test("A refused ticket isn't a refused password, and isn't shown again", .enabled(if: CurlLibrary.hasNegotiate))
    func refusedTicket() throws {
        let offers = #"Negotiate, Basic realm="r""#
        try receive(offers)
        try answer()
        try makeToken([1])
        #expect(try shown(by: step) == ["Authorization: Negotiate AQ=="])
        try receive(offers)
        #expect(asked == ["Negotiate 0", "HTTPBasic 0"])
        try answer()
        _ = try rig.plan(with: step)
        try receive(offers)
        #expect(asked == ["Negotiate 0", "HTTPBasic 0", "HTTPBasic 1"])
    }

    @Test("A ticket that is all that the server wants is asked for again", .enabled(if: CurlLibrary.hasNegotiate))
    func refusedTicketAlone() throws {
        try receive("Negotiate")
        try answer()
        try makeToken([1])
        _ = try rig.plan(with: step)
        try receive("Negotiate")
        #expect(asked == ["Negotiate 0", "Negotiate 1"])
    }

    @Test("Without a ticket the response stays held for the next scheme", .enabled(if: CurlLibrary.hasNegotiate))
    func noTicket() throws {
        try receive(#"Negotiate, Basic realm="r""#)
        try answer()
        #expect(rig.released.isEmpty && asks.value.map(\.host) == ["example.com"])
        try makeToken(nil)
        #expect(rig.released.isEmpty && asked == ["Negotiate 0", "HTTPBasic 0"])
        try answer()
        #expect(rig.released.last?.1.next == rig.request)
        #expect(try shown(by: step) == ["Authorization: \(Credential(user: "u", password: "p").basicToken)"])
    }

    @Test("Without a ticket and another scheme the response is delivered", .enabled(if: CurlLibrary.hasNegotiate))
    func noTicketAlone() throws {
        try receive("Negotiate")
        try answer()
        try makeToken(nil)
        #expect(rig.released.last?.1.isPass == true && rig.questions.count == 1)
        #expect(try complete(step).isPass && shown(by: step).isEmpty)
    }

    @Test("Each request shows a token of its own, and waits for it", .enabled(if: CurlLibrary.hasNegotiate))
    func oneTokenEach() throws {
        try receive("Negotiate")
        try answer()
        try makeToken([1])
        #expect(complete(step).isPass)
        let options = try #require(try rig.plan(with: step).options)
        #expect(options.headers.contains("Authorization: Negotiate AQ=="))
        #expect(options.connectionAuthentication == .negotiate && !options.authenticatesInSteps)
        #expect(!complete(step).isPass && !complete(step).isPass)
        #expect(asks.value.count == 2 && rig.proceeded == 0)
        try makeToken([2])
        #expect(rig.proceeded == 1 && complete(step).isPass)
        #expect(try shown(by: step) == ["Authorization: Negotiate Ag=="])
        #expect(try shown(by: step).isEmpty)
    }

    @Test("A token is never shown to another server", .enabled(if: CurlLibrary.hasNegotiate))
    func otherServer() throws {
        try receive("Negotiate")
        try answer()
        try makeToken([1])
        rig.request = try Sample.request("http://other.example/")
        #expect(try complete(step).isPass && shown(by: step).isEmpty)
    }

    @Test(
        "The session's other tasks show tokens unasked, until one can't be made",
        .enabled(if: CurlLibrary.hasNegotiate)
    )
    func ahead() throws {
        try receive("Negotiate")
        try answer()
        try makeToken([1])
        _ = try rig.plan(with: step)
        #expect(try step.receive(rig.received(Sample.head(200)), rig).isPass)
        let other = Self.step(asks)
        #expect(!complete(other).isPass)
        try makeToken([2])
        #expect(try shown(by: other) == ["Authorization: Negotiate Ag=="])
        let last = Self.step(asks)
        #expect(!complete(last).isPass)
        try makeToken(nil)
        #expect(rig.proceeded == 2 && complete(last).isPass)
        #expect(try shown(by: last).isEmpty)
        #expect(try complete(Self.step(asks)).isPass && shown(by: Self.step(asks)).isEmpty)
    }

    @Test("The trace says why there is no token", .enabled(if: CurlLibrary.hasNegotiate))
    func traced() async throws {
        let texts = Watched<[String]>([])
        let rig = StepRig(try Sample.request("http://example.com/")) {
            $0.urlCredentialStorage = nil
            $0.curl.trace = .init { _, event in texts.update { $0.append(event.text) } }
        }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        rig.task = session.dataTask(with: try Sample.request())
        rig.delegates = DelegateSet(Delegate())
        let step = AuthenticationStep(tokens: { $1(.failure(NegotiateToken.Failure("no ticket"))) })
        let challenge = Sample.head(401, ["WWW-Authenticate": "Negotiate"])
        _ = try #require(try step.receive(rig.received(challenge), rig).held)
        guard case .challenge(let question) = rig.questions.last else { throw URLError(.unknown) }
        rig.onLoop { question.sender.answer(.useCredential, credential) }
        #expect(rig.released.last?.1.isPass == true)
        try await texts.wait { $0 == ["There is no Kerberos token for HTTP@example.com: no ticket"] }
    }

    @Test("A token that comes after the task's end is dropped", .enabled(if: CurlLibrary.hasNegotiate))
    func late() throws {
        try receive("Negotiate")
        try answer()
        rig.stop(step)
        try makeToken([1])
        #expect(rig.released.isEmpty)
    }

    @Test("An answer without a credential delivers the response, whatever else is offered")
    func none() throws {
        try receive(#"NTLM, Basic realm="r""#)
        try question().sender.answer(.useCredential, nil)
        #expect(rig.released.last?.1.isPass == true && rig.questions.count == 1)
    }
}
