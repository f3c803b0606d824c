import CurlTransport
import Foundation

/// The steps that a task has a use for, in the one order in which they are asked at every point.
struct Steps {
    let all: [any Step]
    /// Those that others ask.
    let redirect: RedirectStep
    let connectivity: ConnectivityStep
    let authentication: AuthenticationStep
    let cookies: CookieStep?
    let beginDate: BeginDateStep?
    let stream: StreamStep?

    /// For a task that is about to begin.
    init(_ settings: SessionSettings, _ task: Facts) {
        let cookies = settings.hasCookies ? CookieStep() : nil
        let beginDate = task.isPutOff ? BeginDateStep() : nil
        let stream = task.sendsStream ? StreamStep() : nil
        let redirect = RedirectStep()
        let authentication = AuthenticationStep(isForChannel: task.webSocket != nil)
        let connectivity = ConnectivityStep(waits: settings.waitsForConnectivity)
        var all: [any Step] = []
        all.reserveCapacity(14)
        if let beginDate { all.append(beginDate) }
        if let webSocket = task.webSocket { all.append(WebSocketStep(webSocket)) }
        if settings.transportSecurity != nil { all.append(TransportSecurityStep.shared) }
        if settings.hasProtocols, task.webSocket == nil { all.append(ProtocolClassStep()) }
        all.append(ProxyStep.shared)
        if task.hasDelegate, CurlLibrary.decidesTrust { all.append(HandshakeStep()) }
        if let cookies { all.append(cookies) }
        all.append(authentication)
        if task.webSocket == nil, settings.cache != nil || task.isForCacheAlone { all.append(CacheStep()) }
        all.append(redirect)
        if let (resumeData, file) = task.resumption { all.append(ResumeStep(resumeData, into: file)) }
        if let stream { all.append(stream) }
        all.append(ReplayStep())
        all.append(connectivity)
        self.all = all
        (self.redirect, self.connectivity, self.authentication) = (redirect, connectivity, authentication)
        (self.cookies, self.beginDate, self.stream) = (cookies, beginDate, stream)
    }

    /// The same for a stream task, which has no request: the way to its host, and what may keep it from there.
    init(ofStream settings: SessionSettings) {
        redirect = RedirectStep()
        authentication = AuthenticationStep()
        connectivity = ConnectivityStep(waits: settings.waitsForConnectivity)
        (cookies, beginDate, stream) = (nil, nil, nil)
        all = [ProxyStep.shared, authentication, connectivity]
    }

    /// Steps of somebody else's; the ones that others ask are not among them.
    init(_ all: [any Step]) {
        self.all = all
        redirect = RedirectStep()
        connectivity = ConnectivityStep(waits: false)
        authentication = AuthenticationStep()
        (cookies, beginDate, stream) = (nil, nil, nil)
    }

    // MARK: - Asking them

    /// False where a step has to wait.
    func complete(_ host: any StepHost) -> Bool {
        all.allSatisfy { if case .wait = $0.complete(host) { false } else { true } }
    }

    /// What the transfer of `request` is to do.
    func plan(
        _ request: URLRequest,
        body: (any RequestBody)?,
        _ host: any StepHost
    ) throws(URLError) -> TransferPlan {
        // Once a redirect has led elsewhere, the session's own credentials have no business there.
        let isAtOriginalOrigin = redirect.count == 0 || host.originalOrigin == host.ticket?.origin
        var plan = try TransferPlan(
            request,
            host.ticket,
            body: body,
            settings: host.session.settings,
            keepsCredentials: isAtOriginalOrigin
        )
        for step in all { try step.encode(&plan, host) }
        return plan
    }

    /// The verdict of the first step, from that of number `first` on, that has something to say, and its number; nil where none has.
    func receive(
        _ received: ReceivedHead,
        from first: Int,
        _ host: any StepHost
    ) throws(URLError) -> (verdict: HeadVerdict, step: Int)? {
        for index in first..<all.count {
            let verdict = try all[index].receive(received, host)
            if case .pass = verdict { continue }
            return (verdict, index)
        }
        return nil
    }

    func accept(_ response: AcceptedResponse, into sink: any Sink, _ host: any StepHost) -> any Sink {
        all.reduce(sink) { $1.accept(response, into: $0, host) }
    }

    /// As with `receive`.
    func end(
        _ ending: TransferEnding,
        of request: URLRequest,
        from first: Int,
        _ host: any StepHost
    ) -> (verdict: EndVerdict, step: Int)? {
        for index in first..<all.count {
            let verdict = all[index].end(ending, of: request, host)
            if case .pass = verdict { continue }
            return (verdict, index)
        }
        return nil
    }

    func stop(_ host: any StepHost) {
        for step in all { step.stop(host) }
    }
}

extension Steps {
    /// What decides which steps a task has.
    struct Facts {
        /// It has a begin date that is yet to come.
        var isPutOff = false
        /// Somebody may want to be asked about connections.
        var hasDelegate = false
        /// Only a stored response is good enough.
        var isForCacheAlone = false
        /// What it goes on from, and the sink that has the file.
        var resumption: (Result<ResumeData, URLError>, FileSink)?
        var sendsStream = false
        /// What a web socket exchanges.
        var webSocket: WebSocketExchange?
    }
}
