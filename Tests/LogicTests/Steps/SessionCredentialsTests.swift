import Foundation
import Testing

@testable import CurlNetworking

@Suite("Where the session's credentials may go")
struct SessionCredentialsTests {
    private func rig(_ own: String, wantsHTTPS: Bool = false) throws -> StepRig {
        let rig = StepRig(try Sample.request(own)) {
            $0.curl.strictTransportSecurity = .inMemory
            $0.httpAdditionalHeaders = ["Authorization": "Bearer secret"]
        }
        guard wantsHTTPS else { return rig }
        let field = try #require(TransportSecurityField("max-age=60"))
        rig.session.settings.transportSecurity?.note(field, from: "example.com")
        return rig
    }

    private func redirect(_ rig: StepRig, to target: String) throws -> URLRequest {
        let head = Sample.head(302, ["Location": "http://example.com/next"])
        let received = ReceivedHead(head: head, request: try Sample.request())
        _ = try rig.steps.redirect.receive(received, rig)
        return try Sample.request(target)
    }

    @Test("The session's credentials go with the task's own request, wherever a delegate has sent that")
    func own() throws {
        let rig = try rig("http://example.com/")
        #expect(try rig.mayCarrySessionCredentials(Sample.request("http://example.com/")))
        #expect(try rig.mayCarrySessionCredentials(Sample.request("https://other.example/")))
    }

    @Test("After a redirect the session's credentials stay where a delegate's new request for a delayed one went")
    func delayed() throws {
        let rig = try rig("http://example.com/")
        rig.isWatched = true
        rig.earliestBeginDate = .distantPast
        rig.steps = Steps(rig.session.settings, Steps.Facts(isPutOff: true))
        _ = rig.prepare(try #require(rig.steps.beginDate))
        if case .delayedRequest(_, let answer) = rig.questions.first {
            answer(.useNewRequest, try Sample.request("http://other.example/"))
        }
        #expect(try rig.mayCarrySessionCredentials(redirect(rig, to: "http://other.example/next")))
        #expect(try !rig.mayCarrySessionCredentials(redirect(rig, to: "http://example.com/next")))
    }

    @Test(
        "After a redirect the session's credentials stay at the origin of the task's own request",
        arguments: [
            ("http://example.com/", "http://EXAMPLE.com:80/next", true),
            ("http://example.com/", "http://other.example/", false),
            ("http://example.com/", "https://example.com/", false),
            ("https://example.com/", "http://example.com/", false),
            ("http://example.com/", "http://example.com:8080/", false),
            ("x://example.com/", "x://example.com/next", true),
            ("x://example.com/", "x://other.example/", false),
            ("x://example.com/", "http://example.com/", false),
        ]
    )
    func redirected(own: String, target: String, may: Bool) throws {
        let rig = try rig(own)
        let request = try redirect(rig, to: target)
        #expect(rig.mayCarrySessionCredentials(request) == may)
        #expect(SentFields(request, cookies: nil, rig).value(of: "authorization") == (may ? "Bearer secret" : nil))
    }

    @Test(
        "For a host that requires https, the session's credentials go with http as with https",
        arguments: [
            ("https://example.com/next", true), ("http://example.com/next", true), ("https://other.example/", false),
            ("https://example.com:8443/", false),
        ]
    )
    func secured(target: String, may: Bool) throws {
        let rig = try rig("http://example.com/", wantsHTTPS: true)
        #expect(try rig.mayCarrySessionCredentials(redirect(rig, to: target)) == may)
    }
}
