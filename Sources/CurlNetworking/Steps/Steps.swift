import CurlTransport
import Foundation

/// The steps that a task needs, in the order in which they are called at every point.
struct Steps {
    let all: [any Step]
    /// Steps that other steps query.
    let redirect: RedirectStep
    let connectivity: ConnectivityStep
    let authentication: AuthenticationStep
    // Without the values that variables have from the start, which would cost a copy of the whole.
    let cookies: CookieStep?
    let beginDate: BeginDateStep?
    let bodyFile: BodyFileStep?
    let bodyStream: BodyStreamStep?
    let replay: ReplayStep?
    let upload: UploadStep?

    /// The steps of a task that is about to begin.
    ///
    /// - Parameters:
    ///   - ownCookies: The jar in place of the session's storage; nil for that storage.
    ///   - ownFile: What the uploaded file has to be; nil for anything.
    init(
        _ settings: SessionSettings,
        _ task: borrowing Facts,
        ownCookies: (any CookieJar)? = nil,
        ownFile: UploadedFile? = nil
    ) {
        cookies = settings.hasCookies ? CookieStep(own: ownCookies) : nil
        beginDate = task.isPutOff ? BeginDateStep() : nil
        bodyFile = task.file.map { BodyFileStep($0, expecting: ownFile) }
        bodyStream = task.maySendStream ? BodyStreamStep() : nil
        upload = task.upload
        redirect = RedirectStep()
        authentication = AuthenticationStep(isForChannel: task.webSocket != nil)
        connectivity = ConnectivityStep(waits: settings.waitsForConnectivity)
        var all: [any Step] = []
        all.reserveCapacity(14)
        if let refusal = task.refusal { all.append(RefusalStep(refusal)) }
        if let beginDate { all.append(beginDate) }
        if let webSocket = task.webSocket { all.append(WebSocketStep(webSocket)) }
        if settings.hasProtocols, task.webSocket == nil { all.append(ProtocolClassStep()) }
        if settings.transportSecurity != nil { all.append(TransportSecurityStep()) }
        if let upload, upload.resumption != nil { all.append(ResumedUploadStep(upload)) }
        all.append(ProxyStep.shared)
        if task.hasDelegate, CurlLibrary.decidesTrust { all.append(HandshakeStep()) }
        if let bodyFile { all.append(bodyFile) }
        if let cookies { all.append(cookies) }
        all.append(authentication)
        if task.webSocket == nil, settings.cache != nil || task.needsCacheStep { all.append(CacheStep()) }
        all.append(redirect)
        if let (resumeData, file) = task.resumption { all.append(ResumeStep(resumeData, into: file)) }
        if let upload { all.append(upload) }
        if let bodyStream { all.append(bodyStream) }
        let replay = ReplayStep()
        self.replay = replay
        all.append(replay)
        all.append(connectivity)
        self.all = all
    }

    /// The same for a stream task, which has no request: only those that concern reaching its host.
    init(ofStream settings: SessionSettings, _ task: Facts) {
        redirect = RedirectStep()
        authentication = AuthenticationStep()
        connectivity = ConnectivityStep(waits: settings.waitsForConnectivity)
        beginDate = task.isPutOff ? BeginDateStep(asks: false) : nil
        (cookies, bodyFile, bodyStream, replay, upload) = (nil, nil, nil, nil, nil)
        let others: [any Step] = [ProxyStep.shared, authentication, connectivity]
        all = if let beginDate { [beginDate] + others } else { others }
    }

    /// For custom steps; those that other steps query are not among them.
    init(_ all: [any Step]) {
        self.all = all
        redirect = RedirectStep()
        connectivity = ConnectivityStep(waits: false)
        authentication = AuthenticationStep()
        (cookies, beginDate, bodyFile, bodyStream, replay, upload) = (nil, nil, nil, nil, nil, nil)
    }

    /// Whether the begin date has yet to come.
    var arePutOff: Bool { beginDate?.isDelayed ?? false }

    // MARK: - Calling them

    /// Returns false if a step has to wait.
    func complete(_ context: any StepContext) -> Bool {
        all.allSatisfy { if case .wait = $0.complete(context) { false } else { true } }
    }

    /// The plan for the transfer of `request`.
    func plan(
        _ request: URLRequest,
        body: (any RequestBody)?,
        _ context: any StepContext
    ) throws(URLError) -> TransferPlan {
        let plan = try TransferPlan(
            request,
            ticket: context.ticket,
            body: body,
            settings: context.session.settings,
            keepsCredentials: context.mayCarrySessionCredentials(request)
        )
        for step in all { try step.encode(plan, context) }
        return plan
    }

    /// The verdict of the first step, starting with number `first`, that doesn't pass, and its number; nil if all pass.
    func receive(
        _ received: ReceivedHead,
        from first: Int,
        _ context: any StepContext
    ) throws(URLError) -> (verdict: HeadVerdict, step: Int)? {
        for index in first..<all.count {
            let verdict = try all[index].receive(received, context)
            if case .pass = verdict { continue }
            return (verdict, index)
        }
        return nil
    }

    func accept(_ response: AcceptedResponse, into sink: any Sink, _ context: any StepContext) -> any Sink {
        all.reduce(sink) { $1.accept(response, into: $0, context) }
    }

    /// As with `receive`.
    func end(
        _ ending: TransferEnding,
        of request: URLRequest,
        from first: Int,
        _ context: any StepContext
    ) -> (verdict: EndVerdict, step: Int)? {
        for index in first..<all.count {
            let verdict = all[index].end(ending, of: request, context)
            if case .pass = verdict { continue }
            return (verdict, index)
        }
        return nil
    }

    /// As with `end`, for a transfer whose idle time is up.
    func timeOut(
        _ ending: TransferEnding,
        of request: URLRequest,
        _ context: any StepContext
    ) -> (verdict: EndVerdict, step: Int)? {
        for (index, step) in all.enumerated() where step.handlesTimeOuts {
            let verdict = step.end(ending, of: request, context)
            if case .pass = verdict { continue }
            return (verdict, index)
        }
        return nil
    }

    func stop(_ context: any StepContext) {
        for step in all { step.stop(context) }
    }
}

extension Steps {
    /// The facts that decide which steps a task has.
    struct Facts {
        /// Whether its begin date lies in the future.
        var isPutOff = false
        /// Whether a delegate may have to be asked about connections.
        var hasDelegate = false
        /// Whether the cache policy has an effect even without a cache.
        var needsCacheStep = false
        /// What it resumes from, and the sink that has the file.
        var resumption: (ResumeData, FileSink)?
        /// The file that it uploads.
        var file: URL?
        /// Whether its request has a stream, or may be replaced by one that has.
        var maySendStream = false
        /// For an upload.
        var upload: UploadStep?
        /// Why the task can't be done: its request has no URL, so that no other step may touch it, or its resume data can't be used.
        var refusal: URLError?
        /// What a web socket exchanges.
        var webSocket: WebSocketExchange?
    }
}
