import CurlTransport
import Foundation
import CurlNetworkingLocks

/// One transfer from or to an FTP server. Runs on an FTP loop, reports on its delegate's loop.
///
/// `@unchecked Sendable`: `shared` guards what both loops touch; the rest is grouped by the loop that may touch it.
final class FTPTransfer: Transfer, @unchecked Sendable {
    // MARK: The delegate's loop

    private let loop: EventLoop
    private weak var delegate: (any TransferDelegate)?
    private(set) var lastActivity: MonotonicTime?
    private var wasPaused = false

    var source: HopMetrics.Source { .other }
    var isOfNetwork: Bool { true }

    // MARK: FTP's loop

    private let connections: FTPConnections
    private let options: FTPOptions
    private let hooks: TransferHooks?
    private var body: (any RequestBody)?
    private var replies: FTPReplies
    private var multi: Multi?
    private var easy: EasyHandle?
    private var nudge: Deadline?
    private var isDataFlowing = false
    /// libcurl was told to send nothing while the task is suspended, and asks for more bytes only after it is told to resume.
    private var isSendingHeld = false
    private var isStopped = false
    private var sentBytes: Int64 = 0
    private var receivedBytes: Int64 = 0
    private var abortError: URLError?

    // MARK: Both

    let request: URLRequest
    private let shared = Mutex(Shared())

    fileprivate struct Shared {
        var events: [Event] = []
        var body = BodyBuffer()
        var isDrainScheduled = false
        /// Set by the delegate.
        var isPaused = false
        /// More is waiting for the delegate's loop than should be.
        var isFull = false
        /// FTP's loop, which may have been waiting for another server, has begun the transfer.
        var hasBegun = false
        /// libcurl's own can be asked for on FTP's loop alone, which may be waiting for another server.
        var phase = TransferPhase.preparing
    }

    fileprivate enum Event {
        case head(ResponseHead)
        case sent(Int64)
        case body(Data)
        case finished(URLError?)
    }

    init(
        _ options: FTPOptions,
        for request: URLRequest,
        body: (any RequestBody)?,
        hooks: TransferHooks?,
        connections: FTPConnections,
        loop: EventLoop,
        delegate: any TransferDelegate
    ) {
        self.options = options
        self.request = request
        self.body = body
        self.hooks = hooks
        self.connections = connections
        self.loop = loop
        self.delegate = delegate
        replies = FTPReplies(to: options)
    }

    // MARK: - The delegate's side

    func start() {
        lastActivity = loop.now
        connections.loop.submit { self.startTransfer() }
    }

    var isPaused: Bool { shared.withLock { $0.isPaused } }
    var phase: TransferPhase { shared.withLock { $0.phase } }

    func hasMovedUnseen() -> Bool {
        guard !shared.withLock({ $0.hasBegun }) else { return false }
        lastActivity = loop.now
        return true
    }

    func setPaused(_ isPaused: Bool) {
        lastActivity = loop.now
        if isPaused { wasPaused = true }
        shared.withLock { $0.isPaused = isPaused }
        connections.loop.submit { self.applyPause() }
        drain()
    }

    func bodyBecameReadable() {
        connections.loop.submit { self.continueSending() }
    }

    func cancel() {
        delegate = nil
        connections.loop.submit {
            self.isStopped = true
            if let easy = self.easy { self.multi?.cancel(easy) }
            self.end()
        }
    }

    /// How much is reported in one turn of the loop: pieces of up to 64 KiB. More may come all the time, as fast as a slow disk takes it.
    private static let eventsPerTurn = 16

    private func drain() {
        for _ in 0..<Self.eventsPerTurn {
            guard let delegate, let event = shared.withLock({ $0.next() }) else { return }
            switch event {
            case .head(let head): report(head, to: delegate)
            case .sent(let total): delegate.transfer(self, sent: total)
            case .body(let piece):
                guard delegate.transfer(self, received: piece) else { return }
                if shared.withLock({ $0.consumed(piece.count) }) { connections.loop.submit { self.applyPause() } }
            case .finished(let error): end(error, of: delegate)
            }
        }
        post(nil)
    }

    /// Ends the transfer if its body won't be used.
    private func report(_ head: ResponseHead, to delegate: any TransferDelegate) {
        do throws(URLError) {
            let route = try delegate.transfer(self, received: ReceivedHead(head: head, request: request))
            if case .discard = route { end(nil, of: delegate) }
        } catch {
            end(error, of: delegate)
        }
    }

    private func end(_ error: URLError?, of delegate: any TransferDelegate) {
        cancel()
        var ending = TransferEnding(error, isOfNetwork: true)
        ending.wasPaused = wasPaused
        delegate.transferFinished(self, ending)
    }

    // MARK: - FTP's side

    private func startTransfer() {
        guard !isStopped else { return }
        shared.withLock { $0.hasBegun = true }
        do throws(TransferFailure) {
            let multi = try connections.currentMulti()
            easy = try multi.start(options, handler: self, hooks: hooks)
            self.multi = multi
            // An HTTP proxy doesn't speak first: it may have the request for long.
            if options.httpProxy == nil { shared.withLock { $0.phase = .connecting } }
            nudgeUntilDataFlows()
            // The idle clock begins now.
            post(nil)
        } catch {
            end()
            post(.finished(URLError(error, of: hooks, url: request.url)))
        }
    }

    /// Makes libcurl look at its connections again and again until data flows: see `CurlQuirks.missesFTPEvents`.
    private func nudgeUntilDataFlows(after delay: Duration = .milliseconds(20)) {
        stopNudging()
        guard connections.quirks.missesFTPEvents, let easy, !easy.isPaused, !isDataFlowing else { return }
        let deadline = Deadline { [unowned self] in
            multi?.runAll()
            if nudge != nil { nudgeUntilDataFlows(after: min(delay * 2, .seconds(1))) }
        }
        nudge = deadline
        connections.loop.schedule(deadline, at: connections.loop.now + delay)
    }

    private func stopNudging() {
        if let nudge = nudge.take() { connections.loop.cancel(nudge) }
    }

    private func dataFlows(_ phase: TransferPhase) {
        guard !isDataFlowing else { return }
        isDataFlowing = true
        shared.withLock { $0.phase = phase }
        stopNudging()
    }

    private func applyPause() {
        let isPaused = shared.withLock { $0.isPaused || $0.isFull }
        guard let easy, isPaused != easy.isPaused || isSendingHeld else { return }
        isSendingHeld = false
        // If libcurl can't yet, its next callback tries again.
        if easy.setPaused(isPaused) { nudgeUntilDataFlows() }
    }

    private func continueSending() {
        guard let easy, !easy.isPaused else { return }
        _ = easy.setPaused(false)
    }

    private func post(_ event: Event?) {
        let schedules = shared.withLock { shared in
            if let event { shared.append(event) }
            defer { shared.isDrainScheduled = true }
            return !shared.isDrainScheduled
        }
        guard schedules else { return }
        loop.submit {
            self.shared.withLock { $0.isDrainScheduled = false }
            self.lastActivity = self.loop.now
            self.drain()
        }
    }

    private func end() {
        stopNudging()
        easy = nil
        multi = nil
        body.take()?.close()
    }
}

extension FTPTransfer: TransferHandler {
    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        shared.withLock { $0.hasHeard() }
        if let easy { options.noteReply(to: easy) }
        switch replies.consume(lines: headerLine, isProxys: easy?.speaksFTP == false) {
        case .incomplete: break
        case .complete(let head): post(.head(head))
        case .malformed, .unparsable:
            abortError = .invalidHead(request.url)
            return .abort
        }
        return .accepted
    }

    func transferReceived(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        // libcurl writes attributes out as text.
        if case .attributes = options.direction { return .accepted }
        dataFlows(.receiving)
        if let head = replies.dataBegins() { post(.head(head)) }
        receivedBytes += Int64(bytes.count)
        shared.withLock { shared in
            if shared.body.append(bytes, expected: nil) { shared.isFull = true }
        }
        // Report it now: after the last byte, libcurl may wait for the server before it returns.
        post(nil)
        return .accepted
    }

    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        guard let body else { return .bytes(0) }
        dataFlows(.sending)
        guard !shared.withLock({ $0.isPaused }) else {
            isSendingHeld = true
            return .pause
        }
        do throws(URLError) {
            guard case .bytes(let count) = try body.read(into: buffer) else { return .pause }
            sentBytes += Int64(count)
            if count > 0 { post(.sent(sentBytes)) }
            return .bytes(count)
        } catch {
            abortError = error
            return .abort
        }
    }

    func transferRewindsBody(to offset: Int64) -> Bool {
        guard let body, body.seek(to: offset) else { return false }
        sentBytes = offset
        return true
    }

    func transferSettled() {
        applyPause()
        post(nil)
    }

    func transferFinished(_ failure: TransferFailure?) {
        if let failure, hasComeTooLate(failure) { return startAgain() }
        end()
        // libcurl takes the connection's next transfer to have the type that was refused.
        if failure?.code == .ftpCouldntSetType { connections.renew() }
        let isRefused = failure.map { Self.refusals.contains($0.code) } ?? false
        var error = abortError ?? failure.map { URLError(named($0), url: request.url) }
        // libcurl may have taken another number in the server's reply for the length, and stopped there.
        if error == nil, receivedBytes < replies.announcedLength ?? 0, case .download = options.direction {
            error = URLError(.cutShort, url: request.url)
        }
        if failure == nil || isRefused, let head = replies.finish(isRefused: isRefused) {
            // Already reported by the head.
            error = nil
            post(.head(head))
        }
        post(.finished(error))
    }

    /// Whether the server had given up the kept connection when the first command came. Then libcurl doesn't keep it any longer.
    private func hasComeTooLate(_ failure: TransferFailure) -> Bool {
        guard let easy, easy.usesKeptConnection, !replies.hasAnswer else { return false }
        return replies.farewell != nil || [.sendError, .recvError].contains(failure.code)
    }

    /// On another connection. Nothing of a body has been sent.
    private func startAgain() {
        stopNudging()
        easy = nil
        replies = FTPReplies(to: options)
        connections.loop.submit { self.startTransfer() }
    }

    /// libcurl calls it a time-out if the server ends the session.
    private func named(_ failure: TransferFailure) -> TransferFailure {
        guard failure.code == .operationTimedOut, let farewell = replies.farewell else { return failure }
        var named = failure
        (named.code, named.text) = (.recvError, "The server has ended the session: \(farewell)")
        return named
    }

    /// The server can't start in the middle of the file.
    private static let refusals: Set<CurlCode> = [.ftpCouldntUseRest, .badDownloadResume]
}

extension FTPReplies {
    fileprivate init(to options: FTPOptions) {
        switch options.direction {
        case .download(let offset): self.init(offset: offset, mayAnnounceSize: options.isOfFile)
        case .attributes: self.init()
        case .upload: self.init(comesAtEnd: true)
        }
    }
}

extension FTPTransfer.Shared {
    /// The server, or its proxy, has said something.
    fileprivate mutating func hasHeard() {
        if phase == .connecting { phase = .securing }
    }

    fileprivate mutating func append(_ event: FTPTransfer.Event) {
        if case .sent = event, case .sent = events.last { events.removeLast() }
        events.append(event)
    }

    /// The delegate's next event: the end comes after the body, everything else before it.
    fileprivate mutating func next() -> FTPTransfer.Event? {
        guard !isPaused else { return nil }
        switch events.first {
        case .finished where !body.isEmpty, nil: return body.popFirst().map { .body($0) }
        case .some(let event):
            events.removeFirst()
            return event
        }
    }

    /// True if the transfer may resume.
    fileprivate mutating func consumed(_ count: Int) -> Bool {
        guard body.consumed(count) else { return false }
        isFull = false
        return true
    }
}
