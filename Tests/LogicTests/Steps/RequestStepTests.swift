import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The begin date step")
struct BeginDateStepTests {
    let step = BeginDateStep()
    let rig: StepRig

    init() throws {
        rig = StepRig(try Sample.request())
        rig.earliestBeginDate = Date(timeIntervalSince1970: 1)
    }

    @Test("A request whose time has come goes out if there is no delegate to ask")
    func unwatched() {
        #expect(rig.prepare(step).isPass)
        #expect(rig.questions.isEmpty)
    }

    @Test("A waiting request goes by what the clock shows, forward or back, whenever it is looked at")
    func clock() {
        var now = Date(timeIntervalSince1970: 1_700_000_000)
        let step = BeginDateStep { now }
        rig.earliestBeginDate = now + 60
        #expect(rig.prepare(step).isWait)
        rig.stop(step)
        // The minute has passed, and the clock was set back by an hour.
        now -= 3600 - 60
        #expect(rig.prepare(step).isWait)
        rig.stop(step)
        now += 30 * 24 * 60 * 60
        #expect(rig.prepare(step).isPass)
        // It has begun, whatever the clock shows later.
        now -= 30 * 24 * 60 * 60
        #expect(rig.prepare(step).isPass)
    }

    @Test("A request waits as long as its begin date lies in the future, and no longer")
    func early() {
        rig.earliestBeginDate = .distantFuture
        #expect(rig.prepare(step).isWait)
        rig.stop(step)
        rig.earliestBeginDate = .distantPast
        #expect(rig.prepare(step).isPass)
    }

    @Test("A delegate is asked, and can send another request")
    func newRequest() throws {
        rig.isWatched = true
        #expect(rig.prepare(step).isWait)
        #expect(rig.prepare(step).isWait)
        guard case .delayedRequest(_, let answer) = rig.questions.first else {
            Issue.record("The delegate wasn't asked")
            return
        }
        let next = try Sample.request("http://example.com/next")
        answer(.useNewRequest, next)
        answer(.cancel, nil)
        #expect(rig.request == next && rig.proceeded == 1 && !rig.wasCancelled && rig.questions.count == 1)
        #expect(rig.prepare(step).isPass)
    }

    @Test("A delegate that chooses a new request and gives none fails the task")
    func noRequest() {
        rig.isWatched = true
        _ = rig.prepare(step)
        if case .delayedRequest(_, let answer) = rig.questions.first { answer(.useNewRequest, nil) }
        #expect(rig.prepare(step).failure?.code == .badURL)
    }

    @Test("A delegate can cancel the task")
    func cancel() {
        rig.isWatched = true
        _ = rig.prepare(step)
        if case .delayedRequest(_, let answer) = rig.questions.first { answer(.cancel, nil) }
        #expect(rig.wasCancelled && rig.proceeded == 0)
    }
}

@Suite("The stream step")
struct BodyStreamStepTests {
    let step = BodyStreamStep()

    /// For a request with a stream of its own.
    private func rigWithStream() throws -> (rig: StepRig, own: InputStream) {
        var request = try Sample.request("http://example.com/", "PUT")
        let own = InputStream(data: Data("a".utf8))
        request.httpBodyStream = own
        return (StepRig(request), own)
    }

    @Test("The request's own stream serves the first transfer, and the delegate gives the next")
    func own() throws {
        let (rig, own) = try rigWithStream()
        #expect(rig.prepare(step).isPass)
        #expect(step.take() === own)
        #expect(rig.prepare(step, .repeated).isWait)
        let next = InputStream(data: Data("b".utf8))
        if case .bodyStream(_, let answer) = rig.questions.first { answer(next) }
        #expect(rig.proceeded == 1)
        #expect(rig.prepare(step, .repeated).isPass)
        #expect(step.take() === next && step.take() == nil)
    }

    @Test("A request that has taken the place of one with a stream sends what it has itself")
    func replaced() throws {
        let (rig, _) = try rigWithStream()
        rig.replaceRequest(try Sample.request())
        #expect(rig.prepare(step).isPass)
        #expect(step.take() == nil && rig.questions.isEmpty)
    }

    @Test("A stream that has been read from isn't taken again")
    func spent() throws {
        let rig = StepRig(try Sample.request("http://example.com/", "PUT"), .stream)
        let stream = InputStream(data: Data("a".utf8))
        for isFirst in [true, false] {
            #expect(rig.prepare(step).isWait)
            if case .bodyStream(_, let answer) = rig.questions.last { answer(stream) }
            let verdict = rig.prepare(step)
            #expect(verdict.isPass == isFirst)
            #expect(verdict.failure?.code == (isFirst ? nil : .requestBodyStreamExhausted))
            if isFirst { _ = step.take() }
        }
    }

    @Test("A stream of which nothing was read serves the next attempt, and not another request")
    func unread() async throws {
        let (rig, own) = try rigWithStream()
        #expect(rig.prepare(step).isPass && step.take() === own)
        var body = StreamedBody(own, length: nil, url: nil) {}
        step.note(body)
        body.close()
        #expect(rig.prepare(step, .repeated).isPass && step.take() === own)
        body = StreamedBody(own, length: nil, url: nil) {}
        step.note(body)
        body.close()
        #expect(rig.prepare(step).isWait)
        if case .bodyStream(_, let answer) = rig.questions.first { answer(InputStream(data: Data("a".utf8))) }
        let next = try #require(step.take())
        body = StreamedBody(next, length: nil, url: nil) {}
        step.note(body)
        _ = try RequestBodyTests.read(body, 1)
        body.close()
        #expect(rig.prepare(step, .repeated).isWait)
    }

    @Test(
        "A stream of which nothing was read serves the next request if the delegate has no other",
        arguments: [true, false]
    )
    func stillUnread(givesTheSame: Bool) throws {
        let (rig, own) = try rigWithStream()
        #expect(rig.prepare(step).isPass && step.take() === own)
        let body = StreamedBody(own, length: nil, url: nil) {}
        step.note(body)
        body.close()
        #expect(rig.prepare(step).isWait)
        if case .bodyStream(_, let answer) = rig.questions.first { answer(givesTheSame ? own : nil) }
        #expect(rig.prepare(step).isPass && step.take() === own)
    }

    /// What a protocol class gets; the delegate, if it is asked, offers `stream`.
    private func classStream(_ rig: StepRig, offering stream: InputStream? = nil) throws -> InputStream? {
        var found: Result<InputStream?, URLError>?
        step.findForClass(rig) { found = $0 }
        if found == nil, case .bodyStream(_, let answer) = rig.questions.last { answer(stream) }
        return try #require(found).get()
    }

    @Test("A stream that a protocol class has got isn't taken again, by a class or a transfer")
    func ofClass() throws {
        let (rig, own) = try rigWithStream()
        #expect(try classStream(rig) === own && rig.questions.isEmpty)
        let next = InputStream(data: Data("b".utf8))
        #expect(try classStream(rig, offering: next) === next)
        for offered in [nil, next] {
            let error = #expect(throws: URLError.self) { try classStream(rig, offering: offered) }
            #expect(error?.code == .requestBodyStreamExhausted)
        }
        #expect(rig.prepare(step).isWait)
        if case .bodyStream(_, let answer) = rig.questions.last { answer(nil) }
        #expect(rig.prepare(step).failure?.code == .requestBodyStreamExhausted)
    }

    @Test("A protocol class gets no stream that a transfer has read")
    func ofClassAfterTransfer() throws {
        let (rig, own) = try rigWithStream()
        #expect(rig.prepare(step).isPass && step.take() === own)
        let error = #expect(throws: URLError.self) { try classStream(rig) }
        #expect(error?.code == .requestBodyStreamExhausted && rig.questions.count == 1)
    }

    @Test("A protocol class gets a streamed upload that never had a stream, but none whose stream was read")
    func ofClassWithout() throws {
        let rig = StepRig(try Sample.request("http://example.com/", "PUT"), .stream)
        #expect(try classStream(rig) == nil)
        let stream = InputStream(data: Data("a".utf8))
        #expect(try classStream(rig, offering: stream) === stream)
        #expect(throws: URLError.self) { try classStream(rig) }
        #expect(rig.questions.count == 3)
    }

    @Test("A redirect that has left the body behind needs no stream")
    func left() throws {
        let rig = StepRig(try Sample.request("http://example.com/", "PUT"), .stream)
        let verdict = try rig.steps.redirect.receive(rig.received(Sample.head(303, ["Location": "/"])), rig)
        rig.request = verdict.next
        #expect(rig.prepare(step).isPass && rig.questions.isEmpty)
        #expect(try classStream(rig) == nil && rig.questions.isEmpty)
    }
}

@Suite("The proxy step")
struct ProxyStepTests {
    let owner = TicketOwner()

    func options(_ url: String, _ proxy: CurlOptions.Proxy) throws -> TransferOptions {
        let request = try Sample.request(url, "GET", ["Proxy-Authorization": "Basic a", "X": "y"])
        let rig = StepRig(request) { $0.curl.proxy = proxy }
        try rig.enter(owner)
        return try #require(try rig.plan(with: ProxyStep.shared).options)
    }

    @Test("A `Proxy-Authorization` set by hand goes to proxies alone (RFC 9110 §11.7.2)")
    func field() throws {
        #expect(try options("http://example.com/", .direct).headers.contains { $0.hasPrefix("Proxy-") } == false)
        let server = try #require(CurlOptions.ProxyServer("http://proxy.test:3128"))
        let plain = try options("http://example.com/", .server(server))
        #expect(plain.headers.contains { $0.hasPrefix("Proxy-") } && !plain.proxy.usesTunnel)
        let tunnelled = try options("https://example.com/", .server(server))
        #expect(!tunnelled.headers.contains { $0.hasPrefix("Proxy-") })
        #expect(tunnelled.proxy.usesTunnel && tunnelled.proxy.tunnelHeaders.contains("Proxy-Authorization: Basic a"))
    }
}
