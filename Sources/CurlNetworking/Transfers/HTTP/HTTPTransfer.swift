import CurlTransport
import Foundation

/// One request over HTTP, and the response to it. Loop only.
final class HTTPTransfer: Transfer, TransferHandler {
    let request: URLRequest
    let loop: EventLoop
    unowned let delegate: any TransferDelegate

    // A request accesses these some sixty times: leaving them unchecked saves nearly 2 % of its instructions.
    @exclusivity(unchecked) private(set) var stage: Stage
    @exclusivity(unchecked) private var receiving = ResponseReceiving()
    @exclusivity(unchecked) private var sending: BodySending
    @exclusivity(unchecked) private var ending: TransferEnding
    /// Why a callback has ended the transfer.
    var abortError: URLError?
    /// nil if the body is neither encoded nor kept, or isn't used.
    @exclusivity(unchecked) private(set) var decoding: BodyDecoding?
    @exclusivity(unchecked) private var evidence: ReplayEvidence
    @exclusivity(unchecked) private var authentication: CurlAuthentication
    @exclusivity(unchecked) private var clock: ActivityClock
    private(set) var isPaused = false
    /// The proxy's responses about the tunnel; nil without a tunnel.
    private var tunnel: ProxyTunnel?
    private(set) var connection = ConnectionReport()
    /// nil if metrics aren't wanted.
    private let meter: HopMeter?
    private var inquiry: HandshakeInquiry?

    enum Stage {
        case ready(HTTPTransferSetup)
        /// Handed to libcurl.
        case running(Multi, EasyHandle)
        /// libcurl's part has ended, and some of the body is still being decoded or kept; nil if the whole response has arrived.
        case draining(TransferFailure?)
        case over
    }

    /// libcurl's handle, while it has one.
    var easy: EasyHandle? {
        if case .running(_, let easy) = stage { easy } else { nil }
    }

    init(
        _ request: URLRequest,
        body: (any RequestBody)?,
        _ setup: HTTPTransferSetup,
        meter: HopMeter?,
        loop: EventLoop,
        delegate: any TransferDelegate
    ) {
        self.request = request
        stage = .ready(setup)
        authentication = CurlAuthentication(of: setup.options)
        self.delegate = delegate
        self.loop = loop
        sending = BodySending(body)
        ending = TransferEnding(isOfNetwork: true)
        clock = ActivityClock(last: loop.now)
        self.meter = meter
        evidence = ReplayEvidence(for: request)
    }

    // MARK: - Transfer

    var source: HopMetrics.Source { .network }
    var metrics: HopMetrics? { meter?.metrics }

    func start() throws(URLError) {
        guard case .ready(let setup) = stage else { return }
        stage = .over
        receiving.plainVersion = setup.plainVersion
        if setup.options.proxy.usesTunnel { tunnel = ProxyTunnel() }
        do throws(TransferFailure) {
            let easy = try setup.multi.start(setup.options, handler: self, hooks: setup.hooks)
            stage = .running(setup.multi, easy)
            sending.began(easy, in: setup.multi, for: request)
            if let hooks = setup.hooks { receiving.effect = hooks.options.effect }
        } catch {
            sending.close()
            throw URLError(error, of: setup.hooks, url: request.url)
        }
        inquiry = setup.options.inquiry
    }

    func cancel() {
        settleMetrics()
        if case .running(let multi, let easy) = stage { multi.cancel(easy) }
        releaseResources()
        endDecoding()
    }

    /// Not while libcurl may ask for the request's body, of which nothing may be sent before the decision.
    var isKeepingBody: Bool {
        receiving.route == .hold && decoding?.mayKeep == true && (!sending.hasBody || sending.isComplete && !isPaused)
    }

    func setPaused(_ isPaused: Bool) {
        clock.last = loop.now
        if isPaused { ending.wasPaused = true }
        let isDone = easy?.setPaused(isPaused || awaitsDecoding) ?? false
        // The decoding obeys even if libcurl can't.
        if isDone || decoding?.isBusy == true { self.isPaused = isPaused }
        guard !isPaused else { return }
        settleIfUnasked()
        decoding?.proceed()
    }

    func proceed(to route: BodyRoute) {
        receiving.route = route
        if endIfUnwanted() { return }
        if route == .discard { discardKept() } else { decoding?.release() }
        continueTransfer()
    }

    /// Drops what was kept of a body that turns out to be unwanted. Outside of libcurl.
    private func discardKept() {
        guard let decoding else { return }
        receiving.discard(decoding.waitingCount)
        endDecoding()
        if case .draining(let failure) = stage { complete(failure) }
    }

    func bodyBecameReadable() { continueTransfer() }

    /// An unwanted body has its own time limit.
    var lastActivity: MonotonicTime? { receiving.discarding.end == nil ? clock.idleStart : nil }

    var phase: TransferPhase {
        switch stage {
        case .running(_, let easy): easy.phase
        case .draining: .receiving
        case .over where receiving.head != nil: .receiving
        case .ready, .over: .preparing
        }
    }

    /// libcurl and the system may still be sending what they were given long ago, and libcurl doesn't report incomplete lines. A request
    /// that waits for room on the connections has no server that could be silent.
    func restartIdleClockIfMoved() -> Bool {
        guard let easy else { return false }
        if easy.phase == .resolving, easy.lacksRoom {
            easy.extendConnecting(by: loop.now - clock.last)
            clock.last = loop.now
            return true
        }
        if isSending, easy.info.bytesMoved > clock.bytesMoved {
            (clock.last, clock.bytesMoved) = (loop.now, easy.info.bytesMoved)
            noteMoved(by: easy)
            return true
        }
        guard [.sending, .receiving].contains(easy.phase), speaksHTTP1(easy) else { return false }
        return clock.noteTraffic(at: easy.connectedSocket, now: loop.now)
    }

    private func noteMoved(by easy: EasyHandle) {
        guard !easy.maximumRates.isEmpty else { return }
        clock.noteMoved(easy.info.bodiesMoved, at: easy.maximumRates, now: loop.now)
    }

    func timedOut() {
        guard case .running(let multi, let easy) = stage else { return }
        if !speaksHTTP1(easy) { multi.breakConnection(of: easy, silentFor: loop.now - clock.last) }
    }

    /// Whether the request has a body, and the response hasn't begun.
    private var isSending: Bool { sending.hasBody && receiving.head == nil }

    // MARK: - TransferHandler

    func transferConnected(negotiated: String?) {
        connection.establishment = .established(negotiated: negotiated)
        receiving.releasesWaiting = negotiated == "http/1.1"
    }

    var isAnswered: Bool { receiving.head != nil }

    var responseWatch: ResponseWatch? { evidence.responseWatch }

    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        evidence.noteLine()
        if let complaint = complaint(aboutVersionIn: headerLine) {
            abortError = URLError(.badServerResponse, url: request.url, complaint)
            return .abort
        }
        // No trailer begins like that.
        if receiving.head != nil, headerLine.hasPrefix("HTTP/") { return receivedAnotherHead() }
        let event = receiving.parser.consume(lines: headerLine)
        if !receiving.parser.informational.isEmpty { reportInformational() }
        switch event {
        case .incomplete:
            return .accepted
        case .malformed:
            if receiving.head == nil {
                abortError = .invalidHead(request.url)
            } else if receiving.route != .discard {
                abortError = .largeTrailers(request.url)
            }
            return .abort
        case .unparsable:
            abortError = URLError(.cannotParseResponse, url: request.url, "The response has no status line.")
            return .abort
        case .complete(let head):
            guard authentication.continues(after: head, onKeptConnection: easy?.info.usesKeptConnection == true) else {
                return received(head)
            }
            receiving.parser = HeadParser()
            return .accepted
        }
    }

    private func reportInformational() {
        for head in receiving.parser.informational {
            if head.status == 100 { sending.asked() }
            delegate.transfer(self, receivedInformational: head)
        }
        receiving.parser.informational = []
        receiving.parser.allowance = Int(sending.count / TaskBudget.bytesPerInformationalByte)
    }

    private func complaint(aboutVersionIn line: UnsafeRawBufferPointer) -> String? {
        guard line.hasPrefix("HTTP/"), let easy else { return nil }
        return version(of: easy).complaint(aboutStatusLine: line)
    }

    private func version(of easy: EasyHandle) -> ConnectionVersion {
        if easy.info.tlsSession != nil { return easy.info.negotiatedProtocol == "h2" ? .unknown : .http1 }
        return receiving.plainVersion
    }

    /// Whether no other request shares the connection; false if that isn't certain.
    private func speaksHTTP1(_ easy: EasyHandle) -> Bool { version(of: easy) == .http1 }

    /// Called when the server broke off its response and libcurl sent the request again, which can't be prevented before 7.80: what follows
    /// would be taken for the rest of the first response.
    private func receivedAnotherHead() -> ReceiveVerdict {
        if case .discard = receiving.route { return .abort }
        abortError = URLError(.brokenOff, url: request.url)
        return .abort
    }

    private func received(_ head: ResponseHead) -> ReceiveVerdict {
        receiving.head = head
        connection.responseVersion = head.version
        receiving.releasesWaiting = !head.isOfHTTP1
        let leavesBody = sending.isUnsent(by: request, after: head)
        if case .running(let multi, let easy) = stage, leavesBody || head.hasDoubtfulEnd {
            multi.closeConnection(after: easy)
        }
        // Later the transfer may have no connection to ask.
        if let meter { meter.noteAnswer(over: easy?.info.tlsSession) }
        do throws(URLError) {
            if head.hasUnwantedTransferCoding { throw head.unwantedTransferCoding(at: request.url) }
            let received = ReceivedHead(head: head, request: request, tunnel: tunnel, effect: receiving.effect)
            receiving.route = try delegate.transfer(self, received: received)
            try prepareDecoding(of: head)
            if receiving.route != .discard, CompletionPolicy.isEndedByConnection(head), request.httpMethod != "HEAD" {
                receiving.tlsClosure = easy.flatMap(TLSClosure.watch)
            }
            return endsWithHead ? .abort : .accepted
        } catch {
            abortError = error
            return .abort
        }
    }

    func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        let event = tunnel?.receive(lines: tunnelHeaderLine) ?? .incomplete
        if tunnel?.isMalformed == true { abortError = .invalidTunnelResponse(request.url) }
        return delegate.transfer(self, received: event)
    }

    func transferReceived(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        // libcurl keeps the bodies of earlier rounds to itself.
        if let last = authentication.takeLatest(), case .abort = received(last) { return .abort }
        switch receiving.route {
        case .deliver:
            guard receiving.tinyPieces.take(bytes.count) else { return .pause }
            do throws(URLError) {
                if let decoding {
                    guard !decoding.isFull else { return .pause }
                    try decoding.receive(bytes)
                } else {
                    try deliver(bytes)
                }
                receiving.arrivedCount += Int64(bytes.count)
                return .accepted
            } catch {
                abortError = error
                return .abort
            }
        case .discard:
            receiving.discard(bytes.count)
            return receiving.discarding.count > UnwantedBody.maximumLength ? .abort : .accepted
        case .hold:
            guard decoding?.keep(bytes) == true else { return .pause }
            receiving.arrivedCount += Int64(bytes.count)
            return .accepted
        }
    }

    /// Delivers the next bytes of the body, decoded if need be.
    func deliver(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        receiving.count += Int64(bytes.count)
        try delegate.transfer(self, received: bytes)
    }

    private var decodesContent: Bool { easy?.decodesContent ?? true }

    private func prepareDecoding(of head: ResponseHead) throws(URLError) {
        guard receiving.route != .discard else { return }
        if decodesContent { decoding = try BodyDecoding.make(for: head, at: request.url, on: loop, owner: self) }
        // Kept while the delegate decides about it, it leaves its connection to others, which the delegate may be waiting for.
        if decoding == nil, receiving.route == .hold, isWorthReading(after: head) {
            decoding = .ofPlainBody(after: head, at: request.url, on: loop, owner: self)
        }
    }

    private func isWorthReading(after head: ResponseHead) -> Bool {
        UnwantedBody.isWorthReading(after: head, method: request.httpMethod ?? "GET")
    }

    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        guard let body = sending.body else { return .bytes(0) }
        if sending.wait == .lost { return .abort }
        if isRefused { return .bytes(0) }
        guard delegate.transferMaySend(self) else {
            sending.refused()
            return .pause
        }
        do throws(URLError) {
            guard case .bytes(let count) = try body.read(into: buffer) else {
                sending.starved()
                return .pause
            }
            sending.took(count)
            if count > 0 {
                meter?.metrics.bodySent = Date()
                delegate.transfer(self, sent: sending.count)
            }
            return .bytes(count)
        } catch {
            abortError = error
            return .abort
        }
    }

    /// Whether the server answered with an error before it had the body, over HTTP/2 and where libcurl is kept from ending the body at that
    /// point.
    private var isRefused: Bool {
        guard let head = receiving.head, easy?.ignoresResponseLength == true else { return false }
        return head.status >= 400 && head.status != 417
    }

    var wholeBodyLength: Int64? { sending.isComplete ? sending.count : nil }

    func transferRewindsBody(to offset: Int64) -> Bool {
        sending.rewind(to: offset)
    }

    var isStarved: Bool { sending.isStarved && mayContinue && receiving.route != .hold }

    /// Has libcurl ask for more of the body, which ends the transfer.
    func transferLostConnection() {
        guard isStarved else { return }
        sending.lostConnection()
        continueTransfer()
    }

    func transferSettled() {
        clock.last = loop.now
        if let easy {
            if isSending { clock.bytesMoved = easy.info.bytesMoved }
            noteMoved(by: easy)
        }
        if receiving.releasesWaiting {
            receiving.releasesWaiting = false
            if case .running(let multi, let easy) = stage { multi.reviewWaiting(behind: easy) }
        }
        pauseForDecoding()
        if receiving.tinyPieces.endTurn() { restFromPieces() }
        if sending.takeRefusal() {
            setPaused(true)
            // Even if libcurl couldn't pause the rest, it asks for nothing to send until it is told to continue.
            isPaused = true
        }
        if endIfUnwanted() { return }
        // After an error libcurl usually sends no more, yet before version 8.7 it waits for more until it is told to continue.
        if isStarved, let head = receiving.head, head.status >= 300, sending.answered() { continueTransfer() }
        delegate.transferSettled(self)
        endIfUnasked()
    }

    /// Whether the server has answered instead of asking for the request's body, or for the rest of it.
    private var isUnasked: Bool { isRefused || receiving.head.map { sending.isUnsent(by: request, after: $0) } == true }

    /// Ends a transfer whose server asks for no more of the request's body, once the announced length of the response has arrived. Over
    /// HTTP/2 libcurl would first send the end of the body, for which the server may never open the window. While it waits for a 100 over
    /// HTTP/1, it would send the body after another answer, once it had waited for a second (8.21; not 8.14). Outside of libcurl.
    private func endIfUnasked() {
        guard case .running(let multi, let easy) = stage, isUnasked, mayContinue, receiving.route != .hold,
            let head = receiving.head, CompletionPolicy.isComplete(receiving.arrivedCount, after: head)
        else { return }
        multi.cancel(easy)
        transferFinished(nil)
    }

    /// Has `transferSettled` called for such a transfer, even if libcurl has nothing to do for it. Outside of libcurl.
    private func settleIfUnasked() {
        if isUnasked { easy?.markUnsettled() }
    }

    /// Has libcurl continue with a body of tiny pieces in the loop's next round. Outside of libcurl.
    private func restFromPieces() {
        _ = easy?.setPaused(true)
        loop.schedule(Deadline { [weak self] in self?.continueTransfer() }, at: loop.now)
    }

    /// Ends a transfer whose response body is unwanted and not worth reading, or limits the time for reading it. While the request's body
    /// is still being sent, reading is never worth it: sending the rest would be pointless, perhaps to a server that doesn't read it.
    /// Outside of libcurl.
    private func endIfUnwanted() -> Bool {
        guard case .discard = receiving.route, easy != nil, abortError == nil,
            receiving.discarding.end == nil, let head = receiving.head
        else { return false }
        let isAnsweredEarly = sending.hasBody && !sending.isComplete
        guard !isAnsweredEarly, isWorthReading(after: head) else {
            endUnwanted()
            return true
        }
        let deadline = Deadline { [weak self] in self?.endUnwanted() }
        receiving.discarding.end = deadline
        loop.schedule(deadline, at: loop.now + UnwantedBody.maximumTime)
        return false
    }

    private func endUnwanted() {
        cancel()
        finish(nil)
    }

    // MARK: - The end

    func transferFinished(_ failure: TransferFailure?) {
        let failure = failure.map(interpret)
        if failure == nil, let last = authentication.takeLatest() { _ = received(last) }
        settleMetrics()
        receiving.ignoresLength = easy?.ignoresResponseLength == true
        if decoding?.isOfPlainBody != false, let head = receiving.head, CompletionPolicy.isEndedByHTTP2(head) {
            ending.mayBeCutShort = failure != nil || easy?.hasLostConnection == true
        }
        if abortError == nil, let failure {
            if ending.loss == .none, let loss = evidence.loss(by: failure, hasHead: receiving.head != nil) {
                ending.loss = loss
            }
            if receiving.head == nil { ending.refusal = tunnel?.refusal(before: failure) }
            ending.refusesAnswer = tunnel?.hasRefusedAnswer == true
        }
        releaseResources()
        if abortError == nil, let decoding, decoding.isBusy {
            stage = .draining(failure)
            delegate.transferLeftConnection(self)
            return decoding.report()
        }
        complete(failure)
    }

    /// Corrects the failure where libcurl can't know the cause, and notes what that says about sending the request again.
    private func interpret(_ failure: TransferFailure) -> TransferFailure {
        // Before libcurl asked, it may have noticed by itself, and tried to send the request again.
        if sending.wait == .lost, failure.code != .sendFailRewind { return failure.ofUnsentBody }
        if sending.hasContent, receiving.head == nil,
            ReplayPolicy.isLossOfWholeResponse(failure, isOverHTTP2: easy?.uploadsOverHTTP2 == true)
        {
            ending.loss = .response
            return failure.ofLostResponse
        }
        if ReplayPolicy.isRefusalOfLocation(failure) { ending.loss = .refusedResponse }
        return evidence.interpret(failure)
    }

    /// Called when the transfer is over, and the delegate has received all of its data.
    func complete(_ failure: TransferFailure?) {
        var error = error(for: failure)
        if error == nil, case .deliver = receiving.route { error = decodingError() }
        settleMetrics()
        stage = .over
        endDecoding()
        finish(error)
    }

    /// Makes the last report.
    func finish(_ error: URLError?) {
        ending.error = error
        ending.head = receiving.head
        ending.handshakeQuestion = inquiry?.question
        delegate.transferFinished(self, ending)
    }

    /// Frees libcurl's handle and system resources.
    private func releaseResources() {
        stage = .over
        if let deadline = receiving.discarding.end.take() { loop.cancel(deadline) }
        inquiry?.close()
        sending.close()
    }

    private func endDecoding() {
        decoding?.end()
        decoding = nil
    }

    /// Restarts the idle clock.
    func noteActivity() {
        clock.last = loop.now
    }

    /// Whether libcurl may go on: the delegate wants more, and all received bytes are decoded. While the delegate decides about the body, a
    /// request's body is still sent.
    private var mayContinue: Bool { !isPaused && !awaitsDecoding }

    /// Whether libcurl has to wait until received bytes are decoded. What is kept of an undecided body has a limit of its own.
    var awaitsDecoding: Bool { receiving.route != .hold && decoding?.isBusy == true }

    /// Has libcurl deliver more and ask for more, if it may. Outside of libcurl; may deliver body bytes before it returns.
    func continueTransfer() {
        guard mayContinue else { return }
        _ = easy?.setPaused(false)
        settleIfUnasked()
    }

    /// Takes libcurl's statistics while they are available.
    private func settleMetrics() {
        guard let meter else { return }
        meter.metrics.receivedBodySize = receiving.count
        guard let easy else { return }
        meter.metrics.head = receiving.head
        meter.metrics.sentBodySize = sending.totalCount
        meter.note(easy.info.statistics, arrived: receiving.arrivedCount, sentBody: sending.hasContent)
    }

    // MARK: - Errors

    /// Whether the head ends the transfer: libcurl would wait for the body of the response to a HEAD with a body, or go on authenticating.
    private var endsWithHead: Bool {
        sending.hasContent && request.httpMethod == "HEAD" || authentication.hasTooManyRounds
    }

    /// The task's error after what libcurl reports; notes a loss in the ending.
    private func error(for failure: TransferFailure?) -> URLError? {
        if let abortError { return abortError.with(phase: failure?.phase ?? .receiving) }
        var circumstances = receiving.circumstances
        circumstances.endsWithHead = endsWithHead
        circumstances.requestBody = !sending.hasContent ? .none : sending.isComplete ? .sent : .unsent
        guard let failure = CompletionPolicy.failure(failure, after: receiving.head, circumstances) else { return nil }
        if circumstances.requestBody == .unsent, ReplayPolicy.isLossOfRest(failure, after: receiving.head) {
            ending.loss = .restOfResponse
        }
        guard let refusal = ending.refusal else { return URLError(failure, url: request.url) }
        return URLError(failure, url: request.url, refusal: refusal)
    }
}
