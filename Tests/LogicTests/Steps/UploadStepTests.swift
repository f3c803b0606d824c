import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The upload step")
struct UploadStepTests {
    let step = UploadStep(offering: .v6)
    let rig: StepRig
    let request: URLRequest
    let owner = TicketOwner()

    init() throws {
        request = try Sample.request("http://example.com/files", "POST", ["X-Key": "k"])
        rig = StepRig(request, .data(Data(count: 1000)))
        try rig.enter(owner)
    }

    func encode(_ body: (any RequestBody)?) throws -> [String] {
        let request = try #require(rig.request)
        let plan = try TransferPlan(
            request,
            ticket: rig.ticket,
            body: body,
            settings: rig.session.settings,
            keepsCredentials: true
        )
        try step.encode(plan, rig)
        return try #require(plan.options).headers.filter { $0.hasPrefix("Upload-") }
    }

    func lost(_ code: URLError.Code = .networkConnectionLost, _ phase: TransferPhase = .sending) -> TransferEnding {
        Self.ending(code, phase)
    }

    static func ending(_ code: URLError.Code, _ phase: TransferPhase) -> TransferEnding {
        var ending = TransferEnding(URLError(code, url: nil, "").with(phase: phase))
        ending.isOfNetwork = true
        return ending
    }

    /// The task has learned that it can be resumed.
    func begin() throws {
        #expect(try encode(DataBody(Data(count: 1000))) == ["Upload-Draft-Interop-Version: 6", "Upload-Complete: ?1"])
        step.receive(informational: UploadCourseTests.offer(), to: request)
    }

    @Test("The offer is made for bodies alone")
    func offer() throws {
        #expect(try encode(nil) == [])
        #expect(try encode(DataBody(Data())) == [])
        #expect(try encode(DataBody(Data(count: 1))).count == 2)
        rig.request?.httpMethod = "DELETE"
        #expect(try encode(DataBody(Data(count: 1))) == [])
        rig.request?.httpMethod = "PUT"
        rig.request?.setValue("?0", forHTTPHeaderField: "Upload-Complete")
        #expect(try encode(DataBody(Data(count: 1))) == ["Upload-Complete: ?0"])
        #expect(step.course.stage == .plain)
    }

    @Test("A session's additional fields count as the program's, and those about the body aren't sent with a rest")
    func sessionFields() throws {
        let rig = StepRig(request, .data(Data(count: 1000))) {
            $0.httpAdditionalHeaders = [
                "Tus-Resumable": "1.0.0", "Content-Type": "image/png", "Content-Language": "de", "X-All": "a",
            ]
        }
        try rig.enter(owner)
        func plan(_ body: (any RequestBody)?) throws -> TransferPlan {
            let request = try #require(rig.request)
            let settings = rig.session.settings
            return try TransferPlan(request, ticket: rig.ticket, body: body, settings: settings, keepsCredentials: true)
        }
        let creation = try plan(DataBody(Data(count: 1000)))
        try step.encode(creation, rig)
        #expect(step.course.stage == .plain)
        #expect(try #require(creation.options).headers.contains("Content-Type: image/png"))
        try begin()
        rig.request = step.end(lost(), of: request, rig).next
        let question = try plan(nil)
        try step.encode(question, rig)
        let lines = try #require(question.options).headers
        #expect(lines.contains("X-All: a") && lines.contains("X-Key: k"))
        #expect(lines.allSatisfy { !$0.hasPrefix("Content-") })
        #expect(lines.contains("Upload-Draft-Interop-Version: 6"))
    }

    @Test("After a lost connection, the offset is asked for, then the rest is sent, and then the upload ends")
    func course() throws {
        try begin()
        #expect(step.part(of: request) == .whole)
        let question = try #require(step.end(lost(), of: request, rig).next)
        #expect(question.httpMethod == "HEAD" && question.url?.path == "/uploads/1")
        #expect(step.part(of: question) == BodyPart.none)
        rig.request = question
        #expect(rig.prepare(step).isPass)
        let head = Sample.head(204, ["Upload-Offset": "400", "Upload-Complete": "?0"])
        let rest = try #require(try step.receive(rig.received(head), rig).next)
        #expect(rest.httpMethod == "PATCH" && rest.value(forHTTPHeaderField: "Upload-Offset") == "400")
        #expect(step.part(of: rest) == .rest(UploadRest(from: 400, of: 1000)))
        #expect(step.noteSent(10) == 400)
        rig.request = rest
        #expect(try step.receive(rig.received(Sample.head(200, ["Upload-Complete": "?1"])), rig).isPass)
    }

    @Test("The next request has the fields of the one that led to the resource, and not a redirect's")
    func fields() throws {
        rig.request?.setValue("Bearer own", forHTTPHeaderField: "Authorization")
        try begin()
        let question = try #require(step.end(lost(), of: request, rig).next)
        #expect(question.value(forHTTPHeaderField: "Authorization") == "Bearer own")
        // A delegate gives another server another token; then that server's connection is lost.
        var redirected = question
        redirected.url = try Sample.url("https://other.example/uploads/1")
        redirected.setValue("Bearer other", forHTTPHeaderField: "Authorization")
        let again = try #require(step.end(lost(), of: redirected, rig).next)
        #expect(again.url == question.url && again.value(forHTTPHeaderField: "Authorization") == "Bearer own")
        // Once that server has answered, the resource is there.
        rig.request = redirected
        let head = Sample.head(204, ["Upload-Offset": "400", "Upload-Complete": "?0"])
        let rest = try #require(try step.receive(rig.received(head), rig).next)
        #expect(rest.url == redirected.url && rest.value(forHTTPHeaderField: "Authorization") == "Bearer other")
        let last = try #require(step.end(lost(), of: rest, rig).next)
        #expect(last.url == redirected.url && last.value(forHTTPHeaderField: "Authorization") == "Bearer other")
    }

    @Test("Resume data whose resource is at another origin takes no credentials there")
    func credentialsElsewhere() throws {
        let step = try resuming(Data(count: 1000), version: .v6, at: "https://other.example/uploads/1")
        rig.request?.setValue("Bearer own", forHTTPHeaderField: "Authorization")
        rig.request?.setValue("a=b", forHTTPHeaderField: "Cookie")
        #expect(rig.prepare(ResumedUploadStep(step)).isPass)
        #expect(rig.request?.url?.host == "other.example" && rig.request?.value(forHTTPHeaderField: "X-Key") == "k")
        #expect(rig.request?.value(forHTTPHeaderField: "Authorization") == nil)
        #expect(rig.request?.value(forHTTPHeaderField: "Cookie") == nil)
    }

    @Test("A body with which the delegate has answered a redirect isn't offered to be resumed")
    func otherBody() throws {
        let see = Sample.head(303, ["Location": "/other"])
        guard case .follow(let next) = try rig.steps.redirect.receive(rig.received(see), rig) else {
            Issue.record("The redirect isn't followed.")
            return
        }
        rig.request = next
        rig.request?.httpMethod = "POST"
        rig.request?.httpBody = Data(count: 500)
        #expect(try encode(DataBody(Data(count: 500))) == [])
        #expect(step.course.stage == .plain)
    }

    @Test("A failure that isn't a lost connection, or of an upload that can't be resumed, is the next step's")
    func others() throws {
        #expect(step.end(lost(), of: request, rig).isPass)
        try begin()
        #expect(step.end(lost(.timedOut), of: request, rig).isPass)
        #expect(step.end(lost(.secureConnectionFailed), of: request, rig).isPass)
        #expect(step.end(lost(.cannotOpenFile), of: request, rig).isPass)
        var answered = lost()
        answered.head = Sample.head(200)
        #expect(step.end(answered, of: request, rig).isPass)
        rig.isCancelled = true
        #expect(step.end(lost(), of: request, rig).isPass)
        rig.isCancelled = false
        #expect(step.end(lost(), of: request, rig).next != nil)
    }

    @Test("After a response that libcurl refused, the server is asked what it has")
    func refusedResponse() throws {
        var ending = lost(.badServerResponse, .receiving)
        ending.loss = .refusedResponse
        #expect(step.end(ending, of: request, rig).isPass)
        try begin()
        #expect(step.end(ending, of: request, rig).next?.httpMethod == "HEAD")
    }

    @Test("A host that can't be reached is asked again, or left to the step that waits for it")
    func unreachable() throws {
        try begin()
        let unreachable = lost(.cannotConnectToHost, .connecting)
        #expect(step.end(unreachable, of: request, rig).next?.httpMethod == "HEAD")
        let waiting = StepRig(request, .data(Data(count: 1000))) { $0.waitsForConnectivity = true }
        waiting.steps = Steps(waiting.session.settings, Steps.Facts())
        #expect(step.end(unreachable, of: request, waiting).isPass)
    }

    @Test("The offset is asked for at once, later each time without progress, and at last no more")
    func delays() throws {
        try begin()
        let ending = Self.ending(.networkConnectionLost, .sending)
        for count in 0..<TaskBudget.resumptions.count {
            let question: URLRequest = try #require(step.end(ending, of: request, rig).next, "question number \(count)")
            rig.request = question
            #expect(rig.prepare(step).isPass == (count == 0))
            rig.stop(step)
        }
        #expect(step.end(ending, of: request, rig).isPass)
        #expect(step.course.resource != nil)
    }

    /// The step of a task that resumes an upload of `body`, none of which was acknowledged.
    private func resuming(
        _ body: Data,
        version: UploadVersion,
        sent: Int64 = 0,
        at resource: String = "http://example.com/uploads/1"
    ) throws -> UploadStep {
        let data = UploadResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            resource: UploadResource(url: try Sample.url(resource), version: version),
            acknowledged: 0,
            sent: sent,
            length: Int64(body.count),
            body: .bytes(body)
        )
        let resumption = try UploadResumption(data, in: FileManager.default.temporaryDirectory)
        return UploadStep(offering: .v6, resuming: resumption)
    }

    @Test("Resume data for a resource at another origin than the upload's gets none of the session's credentials")
    func credentials() throws {
        let step = try resuming(Data(count: 1), version: .v6)
        rig.steps = Steps(rig.session.settings, Steps.Facts(upload: step))
        #expect(rig.mayCarrySessionCredentials(request))
        #expect(try rig.mayCarrySessionCredentials(Sample.request("http://other.example/uploads/1", "HEAD")) == false)
    }

    @Test("A resource over https gets the credentials of an upload over http to the same host")
    func forgottenSecurity() throws {
        let step = try resuming(Data(count: 1), version: .v6, at: "https://example.com/uploads/1")
        rig.steps = Steps(rig.session.settings, Steps.Facts(upload: step))
        #expect(try rig.mayCarrySessionCredentials(Sample.request("https://example.com/uploads/1", "HEAD")))
        #expect(try rig.mayCarrySessionCredentials(Sample.request("http://example.com/files", "POST")))
        #expect(try rig.mayCarrySessionCredentials(Sample.request("https://other.example/uploads/1", "HEAD")) == false)
    }

    @Test("Resume data goes on where the server is, even if it isn't known what was sent")
    func unknownProgress() throws {
        let step = try resuming(Data(count: 1000), version: .v6)
        #expect(rig.prepare(ResumedUploadStep(step)).isPass)
        let head = Sample.head(204, ["Upload-Offset": "300", "Upload-Complete": "?0"])
        #expect(try step.receive(rig.received(head), rig).next?.httpMethod == "PATCH")
        let made = Watched<Data?>(nil)
        step.makeResumeData(rig) { found in made.update { $0 = found } }
        let resumed = try UploadResumeData(decoding: #require(made.value))
        #expect(resumed.acknowledged == 300 && resumed.sent == 300)
    }

    @Test(
        "An upload has no resume data once the server has accepted or refused it, other than by a redirect",
        arguments: [200, 409, 307]
    )
    func answered(status: Int) throws {
        let step = try resuming(Data(count: 1000), version: .v6)
        let head = Sample.head(status)
        let response = AcceptedResponse(
            response: TaskResponse(head, at: try #require(request.url)),
            head: head,
            request: request,
            expected: 0
        )
        _ = step.accept(response, into: rig.sink, rig)
        let made = Watched([Data?]())
        step.makeResumeData(rig) { found in made.update { $0.append(found) } }
        #expect(made.value.map { $0 != nil } == [status == 307])
    }

    @Test("An upload that was interrupted earlier begins with the request for its offset, unless its data is bad")
    func resumed() throws {
        let step = try resuming(Data("body".utf8), version: .v3, sent: 4)
        let first = ResumedUploadStep(step)
        #expect(rig.prepare(first).isPass)
        #expect(rig.request?.httpMethod == "HEAD" && step.course.stage == .asking && step.creation == request)
        rig.request = request
        #expect(rig.prepare(first).isPass && rig.request == request)
        var facts = Steps.Facts()
        facts.refusal = URLError(.unsupportedURL)
        let steps = Steps(rig.session.settings, facts)
        #expect(steps.all.first.map { rig.prepare($0) }?.failure?.code == .unsupportedURL)
    }
}
