import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The authentication step, where Negotiate or NTLM is offered first")
struct ConnectionSchemeStepTests {
    final class Delegate: NSObject, URLSessionTaskDelegate {}

    let step = AuthenticationStep()
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
        try question().sender.answer(disposition, disposition == .useCredential ? credential : nil)
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
        _ = try rig.plan(with: step)
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
        _ = try rig.plan(with: step)
        try receive("Negotiate")
        #expect(asked == ["Negotiate 0", "Negotiate 1"])
    }

    @Test("An answer without a credential delivers the response, whatever else is offered")
    func none() throws {
        try receive(#"NTLM, Basic realm="r""#)
        try question().sender.answer(.useCredential, nil)
        #expect(rig.released.last?.1.isPass == true && rig.questions.count == 1)
    }
}
