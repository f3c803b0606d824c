import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The authentication step")
struct AuthenticationStepTests {
    final class Delegate: NSObject, URLSessionTaskDelegate {}

    let step = AuthenticationStep()
    let rig: StepRig
    let challenge = Sample.head(401, ["WWW-Authenticate": "Basic realm=\"a\""])

    init() throws {
        rig = StepRig(try Sample.request()) { $0.urlCredentialStorage = nil }
    }

    /// What the delegate is asked, after a challenge.
    func question() throws -> ChallengeQuestion {
        rig.delegates = DelegateSet(Delegate())
        _ = try #require(try step.receive(rig.received(challenge), rig).held)
        guard case .challenge(let question) = rig.questions.last else {
            throw URLError(.unknown)
        }
        return question
    }

    @Test("A response that is no challenge is the next step's, and so is a challenge that offers nothing")
    func pass() throws {
        #expect(try step.receive(rig.received(Sample.head(200)), rig).isPass)
        #expect(try step.receive(rig.received(Sample.head(401)), rig).isPass)
    }

    @Test("The challenge is the task's response if there is no delegate to ask")
    func nobody() throws {
        let held = try #require(try step.receive(rig.received(challenge), rig).held)
        #expect(rig.released.count == 1 && rig.released.first?.0 === held && rig.released.first?.1.isPass == true)
    }

    @Test("The request goes out again with the delegate's credential, and shows it")
    func credential() throws {
        let question = try question()
        question.sender.answer(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        question.sender.answer(.cancelAuthenticationChallenge, nil)
        #expect(rig.released.count == 1 && rig.released.first?.1.next == rig.request && rig.error == nil)
        let owner = TicketOwner()
        try rig.enter(owner)
        let headers = try #require(try rig.plan(with: step).options).headers
        #expect(headers.contains("Authorization: Basic " + Data("u:p".utf8).base64EncodedString()))
        #expect(step.hasShownServerCredentials)
    }

    @Test("A credential that was refused isn't tried again")
    func refused() throws {
        let first = try question()
        first.sender.answer(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        let owner = TicketOwner()
        try rig.enter(owner)
        _ = try rig.plan(with: step)
        let second = try question()
        #expect(second.challenge.previousFailureCount == 1)
        second.sender.answer(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        #expect(rig.released.last?.1.isPass == true)
    }

    @Test("A delegate that cancels the challenge cancels the task")
    func cancelled() throws {
        try question().sender.answer(.cancelAuthenticationChallenge, nil)
        #expect(rig.error?.code == .cancelled && rig.released.isEmpty)
    }

    @Test("A proxy that refuses a tunnel for want of a credential is answered; the failure waits for that")
    func tunnel() throws {
        let server = try #require(CurlOptions.ProxyServer("http://proxy.test:3128"))
        let rig = StepRig(try Sample.request("https://example.com/")) {
            $0.curl.proxy = .server(server)
            $0.urlCredentialStorage = nil
        }
        let owner = TicketOwner()
        try rig.enter(owner)
        rig.delegates = DelegateSet(Delegate())
        var ending = TransferEnding(URLError(.userAuthenticationRequired))
        ending.refusal = Sample.head(407, ["Proxy-Authenticate": "Basic realm=\"p\""])
        guard case .hold = step.end(ending, of: try Sample.request("https://example.com/"), rig) else {
            Issue.record("The failure isn't held")
            return
        }
        guard case .challenge(let question) = rig.questions.first else {
            Issue.record("Nobody was asked")
            return
        }
        question.sender.answer(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        #expect(rig.released.first?.1.next?.url?.host == "example.com")
    }

    @Test("A proxy's challenge to a request for an FTP server is the task's response", arguments: [401, 407])
    func ftp(status: Int) throws {
        let server = try #require(CurlOptions.ProxyServer("http://proxy.test:3128"))
        let rig = StepRig(try Sample.request("ftp://example.com/file")) {
            $0.curl.proxy = .server(server)
            $0.urlCredentialStorage = nil
        }
        rig.delegates = DelegateSet(Delegate())
        let fields: KeyValuePairs = [
            "Proxy-Authenticate": "Basic realm=\"p\"", "WWW-Authenticate": "Basic realm=\"s\"",
        ]
        #expect(try step.receive(rig.received(Sample.head(status, fields)), rig).isPass)
        #expect(rig.questions.isEmpty)
    }

    @Test("After too many challenges the task fails")
    func endless() throws {
        for _ in 0..<TaskBudget.challenges { _ = try step.receive(rig.received(challenge), rig) }
        #expect(throws: URLError.self) { try step.receive(rig.received(challenge), rig) }
    }
}

@Suite("The refusal step")
struct RefusalStepTests {
    @Test("A task whose resume data can't be used fails before any other step is asked")
    func invalidResumeData() throws {
        let rig = StepRig(try Sample.request())
        let consumer = Consumer.dataHandler { _, _, _ in }
        let handle = TaskHandle(
            identifier: 1,
            session: rig.session,
            request: nil,
            startingAt: .invalid(URLError(.unsupportedURL)),
            consumer: consumer
        )
        let facts = Steps.Facts(handle, MemorySink(SinkRig()), consumer, beginDate: nil, hasOwnDelegate: false)
        let first = try #require(Steps(rig.session.settings, facts).all.first)
        #expect(rig.prepare(first).failure?.code == .unsupportedURL)
    }
}

@Suite("The cache step")
struct CacheStepTests {
    @Test(
        "Without a cache, the step is only for tasks whose policy counts all the same",
        arguments: 0...5 as ClosedRange<UInt>
    )
    func presence(policy: UInt) throws {
        let policy = try #require(URLRequest.CachePolicy(rawValue: policy))
        let handled: Set<URLRequest.CachePolicy> = [
            .returnCacheDataDontLoad, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData,
        ]
        for isOfRequest in [true, false] {
            let core = SessionCore(
                .ephemeral,
                settings: Sample.settings {
                    $0.urlCache = nil
                    if !isOfRequest { $0.requestCachePolicy = policy }
                },
                delegate: nil,
                delegateQueue: OperationQueue()
            )
            var request = try Sample.request()
            if isOfRequest { request.cachePolicy = policy }
            let handle = TaskHandle(
                identifier: 1,
                session: core,
                request: request,
                consumer: .dataHandler { _, _, _ in }
            )
            let facts = Steps.Facts(
                handle,
                MemorySink(SinkRig()),
                .dataHandler { _, _, _ in },
                beginDate: nil,
                hasOwnDelegate: false
            )
            #expect(Steps(core.settings, facts).all.contains { $0 is CacheStep } == handled.contains(policy))
        }
    }

    let step = CacheStep()

    @Test("A request that only a stored response may answer fails without one")
    func cacheOnly() throws {
        let rig = StepRig(try Sample.request()) {
            $0.urlCache = nil
            $0.requestCachePolicy = .returnCacheDataDontLoad
        }
        #expect(rig.prepare(step).failure?.code == .resourceUnavailable)
    }

    @Test("Uploads, downloads and other schemes are the next step's", arguments: ["ftp://example.com/", "data:,a"])
    func others(url: String) throws {
        #expect(StepRig(try Sample.request(url)).prepare(step).isPass)
        let upload = StepRig(try Sample.request(), .data(Data("a".utf8)))
        #expect(upload.prepare(step).isPass)
    }

    @Test("A request that goes out again isn't looked up again")
    func repeated() throws {
        let rig = StepRig(try Sample.request()) { $0.requestCachePolicy = .returnCacheDataDontLoad }
        #expect(rig.prepare(step, .repeated).isPass)
    }

    @Test("A response that may be stored is gathered beside its way to the delegate")
    func tee() throws {
        let rig = StepRig(try Sample.request())
        rig.sink = DelegateSink(rig.sinkOwner)
        guard rig.prepare(step).isPass else {
            Issue.record("The empty cache has an answer")
            return
        }
        _ = try rig.plan(with: step)
        let head = Sample.head(200, ["Cache-Control": "max-age=60", "Content-Length": "3"])
        let response = AcceptedResponse(
            response: TaskResponse(head, at: try #require(try Sample.request().url)),
            head: head,
            request: rig.request,
            expected: 3
        )
        let sink = step.accept(response, into: rig.sink, rig)
        try Data("abc".utf8).withUnsafeBytes { bytes in try sink.receive(bytes) }
        #expect(sink.wholeBody == Data("abc".utf8) && rig.sinkOwner.delivered == Data("abc".utf8))
    }

    @Test("A response that must not be stored isn't gathered")
    func noStore() throws {
        let rig = StepRig(try Sample.request())
        rig.sink = DelegateSink(rig.sinkOwner)
        _ = rig.prepare(step)
        _ = try rig.plan(with: step)
        let head = Sample.head(200, ["Cache-Control": "no-store"])
        let response = AcceptedResponse(
            response: TaskResponse(head, at: try #require(try Sample.request().url)),
            head: head,
            request: rig.request,
            expected: 3
        )
        #expect(step.accept(response, into: rig.sink, rig) === rig.sink)
    }
}

@Suite("The cache step, after a failure")
struct CacheStepFailureTests {
    /// What the step makes of a failure, with a stale response that may stand in; after a redirect that it passes on, if there is `target`.
    private func verdict(after code: URLError.Code, redirectedTo target: String? = nil) throws -> EndVerdict {
        let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
        let request = try Sample.request()
        let rig = StepRig(request) { $0.urlCache = cache }
        var stored = try Sample.stored("stale", at: "http://example.com/")
        stored.head = Sample.head(200, ["Cache-Control": "max-age=1, stale-if-error=1000000000", "ETag": "\"a\""])
        stored.received = Date() - 100
        stored.requested = stored.received
        stored.variant = []
        let step = CacheStep()
        rig.session.settings.cache?.store(stored)
        #expect(rig.prepare(step).isPass)
        guard let target else { return step.end(TransferEnding(URLError(code)), of: request, rig) }
        #expect(try step.receive(rig.received(Sample.head(302, ["Location": target])), rig).isPass)
        let next = try Sample.request(target)
        rig.replaceRequest(next)
        return step.end(TransferEnding(URLError(code)), of: next, rig)
    }

    @Test("A stale response stands in for a server that is out of reach")
    func unreachable() throws {
        guard case .load = try verdict(after: .cannotConnectToHost) else {
            Issue.record("The failure is the task's")
            return
        }
    }

    @Test("A stale response doesn't stand in for the target of a redirect that a protocol class has loaded")
    func redirected() throws {
        #expect(try verdict(after: .cannotConnectToHost, redirectedTo: "http://example.com/target").isPass)
    }

    @Test(
        "A stale response doesn't hide that a server isn't trusted",
        arguments: [URLError.Code.serverCertificateUntrusted, .badURL]
    )
    func untrusted(code: URLError.Code) throws {
        #expect(try verdict(after: code).isPass)
    }
}

@Suite("The cache step, in an upload that is resumed")
struct CacheStepUploadTests {
    /// Whether what was stored for the upload's own URL is still there, after this answer to a request elsewhere.
    private func isStored(after head: ResponseHead, to method: String, at url: String) throws -> Bool {
        let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
        let request = try Sample.request("http://example.com/file", "PUT")
        let rig = StepRig(request, .data(Data(count: 1000))) { $0.urlCache = cache }
        let upload = UploadStep(offering: .v6)
        rig.steps = Steps(rig.session.settings, Steps.Facts(upload: upload))
        let owner = TicketOwner()
        try rig.enter(owner)
        let plan = try TransferPlan(
            request,
            ticket: rig.ticket,
            body: DataBody(Data(count: 1000)),
            settings: rig.session.settings,
            keepsCredentials: true
        )
        try upload.encode(plan, rig)
        let key = "http://example.com/file"
        rig.session.settings.cache?.store(try Sample.stored("old", at: key))
        let received = ReceivedHead(head: head, request: try Sample.request(url, method))
        #expect(CacheStep().receive(received, rig).isPass)
        guard case .known(let stored)? = rig.session.settings.cache?.find(key, now: .now, isInsistent: true) else {
            throw URLError(.unknown)
        }
        return stored != nil
    }

    @Test("The answer to the rest outdates what is stored for the upload's own URL")
    func rest() throws {
        #expect(try !isStored(after: Sample.head(200), to: "PATCH", at: "http://example.com/uploads/1"))
    }

    @Test("The answer to the request for the offset outdates what is stored for the upload's own URL")
    func question() throws {
        let head = Sample.head(204, ["Upload-Complete": "?1"])
        #expect(try !isStored(after: head, to: "HEAD", at: "http://example.com/uploads/1"))
    }

    @Test("A refusal outdates nothing")
    func refusal() throws {
        #expect(try isStored(after: Sample.head(409), to: "PATCH", at: "http://example.com/uploads/1"))
    }
}

@Suite("The cache step, after a change")
struct CacheStepChangeTests {
    @Test(
        "A change outdates what is stored for its URL, however that is written",
        arguments: [
            "http://example.com/x", "http://example.com/x#a", "http://user:secret@example.com/x",
            "http://example.com:80/x", "HTTP://EXAMPLE.com/x",
        ]
    )
    func spellings(url: String) throws {
        let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
        let rig = StepRig(try Sample.request(url, "PUT"), .data(Data("a".utf8))) { $0.urlCache = cache }
        let key = "http://example.com/x"
        rig.session.settings.cache?.store(try Sample.stored("old", at: key))
        #expect(CacheStep().receive(try rig.received(Sample.head(204)), rig).isPass)
        guard case .known(let stored)? = rig.session.settings.cache?.find(key, now: .now, isInsistent: true) else {
            throw URLError(.unknown)
        }
        #expect(stored == nil)
    }
}

@Suite("The cookie step")
struct CookieStepTests {
    @Test("Cookies that a response sets keep back what follows until they are stored")
    func storing() async throws {
        let rig = StepRig(try Sample.request())
        let step = CookieStep()
        let received = try rig.received(Sample.head(200, ["Set-Cookie": "a=b"]))
        await withCheckedContinuation { continuation in
            rig.deliveryReleased = { continuation.resume() }
            #expect(step.receive(received, rig).isPass)
        }
        #expect(!step.isStoring && rig.holds == 0)
    }

    @Test("A response without cookies, and a task that handles none, keep nothing back")
    func none() throws {
        var request = try Sample.request()
        let step = CookieStep()
        _ = step.receive(ReceivedHead(head: Sample.head(200), request: request), StepRig(request))
        request.httpShouldHandleCookies = false
        let head = Sample.head(200, ["Set-Cookie": "a=b"])
        let rig = StepRig(request)
        _ = step.receive(ReceivedHead(head: head, request: request), rig)
        #expect(!step.isStoring && rig.holds == 0)
    }

    @Test("Without stored cookies nothing waits, and nothing is added")
    func empty() throws {
        let rig = StepRig(try Sample.request()) { $0.httpCookieStorage = nil }
        let step = CookieStep()
        guard case .pass = step.complete(rig) else {
            Issue.record("It waits")
            return
        }
        let owner = TicketOwner()
        try rig.enter(owner)
        let options = try #require(try rig.plan(with: step).options)
        #expect(!options.headers.contains { $0.hasPrefix("Cookie:") })
    }
}

@Suite("The transport security step")
struct TransportSecurityStepTests {
    private let step = TransportSecurityStep()
    private let owner = TicketOwner()

    @Test("A request that is repeated, or of a session without it, is the next step's")
    func pass() throws {
        let rig = StepRig(try Sample.request())
        #expect(rig.prepare(step).isPass)
        #expect(rig.prepare(step, .repeated).isPass)
        #expect(rig.request?.url?.scheme == "http")
    }

    @Test(
        "A request to a host that is known to want https goes there by https, and one that is repeated stays as it is"
    )
    func secured() throws {
        let rig = StepRig(try Sample.request()) { $0.curl.strictTransportSecurity = .inMemory }
        let field = try #require(TransportSecurityField("max-age=60"))
        rig.session.settings.transportSecurity?.note(field, from: "example.com")
        #expect(rig.prepare(step, .repeated).isPass)
        #expect(rig.request?.url?.scheme == "http")
        #expect(rig.prepare(step).isPass)
        #expect(rig.request?.url?.scheme == "https")
    }

    /// Whether the field of a response from `url` is noted.
    ///
    /// - Parameters:
    ///   - acceptsProblem: A delegate has accepted a certificate in spite of a problem before the request is sent.
    ///   - forgets: Its decisions are forgotten before the response comes.
    ///   - effect: Of the program's own options on the transfer.
    private func isLearnt(
        from url: String,
        acceptsProblem: Bool = false,
        forgets: Bool = false,
        effect: OptionEffect = .connection
    ) throws -> Bool {
        let rig = StepRig(try Sample.request(url)) { $0.curl.strictTransportSecurity = .inMemory }
        try rig.enter(owner)
        let origin = try #require(Origin(Sample.url(url)))
        if acceptsProblem {
            rig.onLoop {
                rig.pool.handshakes.scope(of: .session).coordinator.accept([[1]], of: origin, hasProblem: true)
            }
        }
        _ = try rig.plan(with: step)
        if forgets { rig.onLoop { rig.pool.handshakes.forgetDecisions() } }
        let head = Sample.head(200, ["Strict-Transport-Security": "max-age=60"])
        let received = ReceivedHead(head: head, request: try Sample.request(url), effect: effect)
        #expect(step.receive(received, rig).isPass)
        return try rig.session.settings.transportSecurity?.secured(Sample.url("http://example.com/")) != nil
    }

    @Test("A host's policy is learnt from responses over https alone")
    func learning() throws {
        #expect(try !isLearnt(from: "http://example.com/"))
        #expect(try isLearnt(from: "https://example.com/"))
    }

    @Test("No policy is learnt from a transfer for which the program's own options have decided whom to trust")
    func configuredTrust() throws {
        #expect(try !isLearnt(from: "https://example.com/", effect: .trust))
        #expect(try isLearnt(from: "https://example.com/", effect: .exchange))
    }

    @Test("No policy is learnt where a delegate has accepted a problem, even if that is forgotten by then")
    func unverified() throws {
        for forgets in [false, true] {
            #expect(try !isLearnt(from: "https://example.com/", acceptsProblem: true, forgets: forgets))
        }
        #expect(try isLearnt(from: "https://example.com/", forgets: true))
    }
}

@Suite("The handshake step")
struct HandshakeStepTests {
    final class Delegate: NSObject, URLSessionDelegate {}

    let step = HandshakeStep()
    let rig: StepRig
    let owner = TicketOwner()

    init() throws {
        rig = StepRig(try Sample.request("https://example.com/"))
        try rig.enter(owner)
    }

    @Test("A handshake is stopped only if a delegate wants to be asked")
    func inquiry() throws {
        #expect(try rig.plan(with: step).options?.inquiry == nil)
        rig.ownDelegates = DelegateSet(Delegate())
        let plan = try rig.plan(with: step)
        #expect(plan.options?.inquiry != nil && plan.decider != nil)
    }

    @Test("A failure that isn't a question is the next step's")
    func others() throws {
        let request = try #require(rig.request)
        #expect(step.end(TransferEnding(URLError(.secureConnectionFailed)), of: request, rig).isPass)
        #expect(step.end(TransferEnding(), of: request, rig).isPass)
    }

    @Test("A delegate is asked, and the request goes out again by its answer")
    func question() throws {
        /// Who has answered for a class of delegates is remembered for the process: the other tests' isn't known yet.
        final class Asked: NSObject, URLSessionDelegate {}
        rig.ownDelegates = DelegateSet(Asked())
        let request = try #require(rig.request)
        var ending = TransferEnding(URLError(.serverCertificateUntrusted))
        ending.handshakeQuestion = .serverTrust(chain: [[1]], result: 18, reason: "self-signed certificate")
        #expect(step.end(ending, of: request, rig).isWait)
        guard case .challenge(let question) = rig.questions.first else {
            Issue.record("Nobody was asked")
            return
        }
        question.sender.answer(.rejectProtectionSpace, nil)
        #expect(rig.error?.code == .serverCertificateUntrusted && rig.proceeded == 0)
    }

    /// Another task's step, which asks about the host.
    private func asking() throws -> HandshakeStep {
        let request = try #require(rig.request)
        var ending = TransferEnding(URLError(.serverCertificateUntrusted))
        ending.handshakeQuestion = .serverTrust(chain: [[1]], result: 18, reason: "")
        let asking = HandshakeStep()
        #expect(asking.end(ending, of: request, rig).isWait)
        return asking
    }

    @Test("While another task asks about the host, the one that is to open the next connection waits for the answer")
    func waitsForAnswer() throws {
        let delegate = Delegate()
        rig.ownDelegates = DelegateSet(delegate)
        #expect(step.complete(rig).isPass)
        let asking = try asking()
        #expect(!step.complete(rig).isPass)
        #expect(!step.complete(rig).isPass, "asked again, it still waits")
        let ticket = try #require(rig.ticket)
        rig.ticket = Admission.Ticket(origin: ticket.origin, owner: owner)
        #expect(HandshakeStep().complete(rig).isPass, "one that shares a connection doesn't")
        rig.ticket = ticket
        rig.stop(asking)
        #expect(rig.proceeded == 1)
        #expect(step.complete(rig).isPass)
    }

    @Test("A task that waited for an answer, and is over, is not heard of again")
    func waitEnds() throws {
        let delegate = Delegate()
        rig.ownDelegates = DelegateSet(delegate)
        let asking = try asking()
        #expect(!step.complete(rig).isPass)
        rig.stop(step)
        rig.stop(asking)
        #expect(rig.proceeded == 0)
    }

    @Test("A server that comes with another question each time is left after so many")
    func endless() throws {
        rig.ownDelegates = DelegateSet(Delegate())
        let request = try #require(rig.request)
        for number in 0..<TaskBudget.handshakes {
            var ending = TransferEnding(URLError(.serverCertificateUntrusted))
            ending.handshakeQuestion = .serverTrust(chain: [[UInt8(number)]], result: 18, reason: "")
            _ = step.end(ending, of: request, rig)
        }
        var ending = TransferEnding(URLError(.serverCertificateUntrusted))
        ending.handshakeQuestion = .serverTrust(chain: [[255]], result: 18, reason: "")
        #expect(step.end(ending, of: request, rig).failure?.code == .secureConnectionFailed)
    }
}
