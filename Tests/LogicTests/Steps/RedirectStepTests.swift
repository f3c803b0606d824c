import Foundation
import Testing

@testable import CurlNetworking

@Suite("The redirect step")
struct RedirectStepTests {
    final class Delegate: NSObject, URLSessionTaskDelegate {}

    let step = RedirectStep()
    let rig: StepRig

    init() throws {
        rig = StepRig(try Sample.request("http://example.com/old", "POST"))
    }

    @Test("A redirect is followed at once, and counted, if there is no delegate to ask")
    func silent() throws {
        let verdict = try step.receive(rig.received(Sample.head(307, ["Location": "/new"])), rig)
        #expect(verdict.next?.url?.path == "/new" && verdict.next?.httpMethod == "POST")
        #expect(step.count == 1 && !step.hasLeftBody && rig.questions.isEmpty)
    }

    @Test("A 303 leaves the body behind (RFC 9110 §15.4.4), unless a delegate has chosen a method without another body")
    func body() throws {
        var next = try #require(try step.receive(rig.received(Sample.head(303, ["Location": "/new"])), rig).next)
        #expect(step.hasLeftBody && next.httpMethod == "GET")
        #expect(!rig.body.isKept(by: next, after: step))
        next.httpMethod = "HEAD"
        #expect(!rig.body.isKept(by: next, after: step))
        next.httpMethod = "PUT"
        #expect(rig.body.isKept(by: next, after: step))
        next.httpBody = Data("new".utf8)
        #expect(!rig.body.isKept(by: next, after: step))
    }

    @Test("A class's 303 leaves the body behind unless the class has kept it", arguments: [302, 303], [true, false])
    func bodyOfReported(status: Int, isKept: Bool) throws {
        let old = try #require(rig.request)
        let url = try Sample.url("http://example.com/old")
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
        )
        var next = try Sample.request("http://example.com/new", "PUT")
        if isKept { next.httpBody = Data("body".utf8) }
        _ = try step.report(next, from: old, by: response, rig)
        #expect(step.count == 1 && step.hasLeftBody == (status == 303 && !isKept))
    }

    @Test("A response that is no redirect is the next step's", arguments: [200, 304, 404, 500])
    func others(status: Int) throws {
        #expect(try step.receive(rig.received(Sample.head(status, ["Location": "/new"])), rig).isPass)
        #expect(step.count == 0)
    }

    @Test("A delegate is asked, and only its first answer counts")
    func asked() throws {
        rig.delegates = DelegateSet(Delegate())
        let held = try #require(try step.receive(rig.received(Sample.head(302, ["Location": "/new"])), rig).held)
        guard case .redirect(let response, let next, let answer) = rig.questions.first else {
            Issue.record("The delegate wasn't asked")
            return
        }
        #expect(response.status == 302 && next.url?.path == "/new" && step.count == 0)
        answer(next)
        answer(nil)
        #expect(rig.released.count == 1 && rig.released.first?.0 === held)
        #expect(rig.released.first?.1.next?.url?.path == "/new" && step.count == 1)
    }

    @Test("A delegate that wants none gets the response, and nothing is counted")
    func declined() throws {
        rig.delegates = DelegateSet(Delegate())
        _ = try step.receive(rig.received(Sample.head(302, ["Location": "/new"])), rig)
        if case .redirect(_, _, let answer) = rig.questions.first { answer(nil) }
        #expect(rig.released.first?.1.isPass == true && step.count == 0)
    }

    @Test("No answer counts after the task's end", arguments: ["/new", "myapp://callback"])
    func late(location: String) throws {
        rig.delegates = DelegateSet(Delegate())
        _ = try step.receive(rig.received(Sample.head(302, ["Location": location])), rig)
        rig.stop(step)
        if case .redirect(_, let next, let answer) = rig.questions.first { answer(next) }
        #expect(rig.released.isEmpty && rig.error == nil)
    }

    @Test("A redirect to another scheme fails if there is no delegate to ask")
    func otherScheme() throws {
        let head = try rig.received(Sample.head(302, ["Location": "myapp://callback"]))
        #expect { _ = try step.receive(head, rig) } throws: { ($0 as? URLError)?.code == .unsupportedURL }
        #expect(step.count == 0 && rig.questions.isEmpty)
    }

    @Test(
        "A delegate may decline a redirect to another scheme or lead elsewhere, and can't follow it",
        arguments: [
            ("myapp://callback?code=abc", .unsupportedURL), ("MyApp://elsewhere", .unsupportedURL),
            ("https://example.com/new", nil), (nil, nil),
        ] as [(String?, URLError.Code?)]
    )
    func askedAboutOtherScheme(answer: String?, failure: URLError.Code?) throws {
        rig.delegates = DelegateSet(Delegate())
        let head = Sample.head(302, ["Location": "myapp://callback?code=abc"])
        let held = try #require(try step.receive(rig.received(head), rig).held)
        guard case .redirect(let response, let next, let decide) = rig.questions.first else {
            Issue.record("The delegate wasn't asked")
            return
        }
        #expect(response.status == 302 && next.url?.absoluteString == "myapp://callback?code=abc")
        decide(try answer.map { try Sample.request($0) })
        #expect(rig.error?.code == failure)
        #expect(rig.released.count == (failure == nil ? 1 : 0) && rig.released.allSatisfy { $0.0 === held })
        let followed = rig.released.first?.1.next
        #expect(followed?.url?.absoluteString == (failure == nil ? answer : nil))
        #expect(step.count == (followed == nil ? 0 : 1))
    }

    @Test(
        "No redirect leads to a Unix socket that is set for a host, even by way of Strict-Transport-Security",
        arguments: ["https://docker.example/", "http://docker.example/"]
    )
    func unixSocket(location: String) throws {
        let rig = StepRig(try Sample.request()) {
            $0.curl.strictTransportSecurity = .inMemory
            $0.curl.hosts["docker.example:443"].names.unixSocket = .path("/run/docker.sock")
        }
        let field = try #require(TransportSecurityField("max-age=60"))
        rig.session.settings.transportSecurity?.note(field, from: "docker.example")
        let head = try rig.received(Sample.head(302, ["Location": location]))
        #expect { _ = try step.receive(head, rig) } throws: { ($0 as? URLError)?.code == .unsupportedURL }
        #expect(step.count == 0)
    }

    @Test("The redirect after the last one that is followed fails the task")
    func limit() throws {
        for _ in 0..<TaskBudget.redirects {
            let verdict = try step.receive(rig.received(Sample.head(302, ["Location": "/new"])), rig)
            rig.request = verdict.next
        }
        let head = try rig.received(Sample.head(302, ["Location": "/new"]))
        #expect { _ = try step.receive(head, rig) } throws: { ($0 as? URLError)?.code == .httpTooManyRedirects }
    }
}
