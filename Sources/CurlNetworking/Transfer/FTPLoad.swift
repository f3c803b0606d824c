import Curl
import Foundation
import Locks

/// What an `FTPLoad` reports besides; on the owner's loop.
protocol FTPLoadOwner: LoadOwner {
    /// What is known of the file, as HTTP would put it. False ends the load: its body is of no use.
    func ftpLoad(_ load: FTPLoad, received head: ResponseHead)
    func ftpLoad(_ load: FTPLoad, sent totalBytes: Int64)
}

/// One transfer from or to an FTP server: runs on FTP's loop, reports on its owner's.
///
/// `@unchecked Sendable`: `shared` guards what both loops touch; the rest is grouped by the one that may.
final class FTPLoad: Load, @unchecked Sendable {
    // MARK: Owner's loop

    private let loop: EventLoop
    private var owner: (any FTPLoadOwner)?
    private(set) var lastActivity: MonotonicTime?

    // MARK: FTP's loop

    private let connections: FTPConnections
    private let options: FTPOptions
    private let hatches: TransferHatches?
    private var body: (any RequestBody)?
    private var replies: FTPReplies
    private var multi: Multi?
    private var easy: EasyHandle?
    private var nudge: Deadline?
    private var isDataFlowing = false
    private var isStopped = false
    private var isTransferPaused = false
    private var sentBytes: Int64 = 0
    private var abortError: URLError?

    // MARK: Both

    let request: URLRequest
    private let shared = Mutex(Shared())

    fileprivate struct Shared {
        var events: [Event] = []
        var body = BodyBuffer()
        var isDrainScheduled = false
        /// The owner's wish.
        var isPaused = false
        /// More waits for the owner's loop than should.
        var isFull = false
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
        hatches: TransferHatches?,
        connections: FTPConnections,
        loop: EventLoop,
        owner: any FTPLoadOwner
    ) {
        self.options = options
        self.request = request
        self.body = body
        self.hatches = hatches
        self.connections = connections
        self.loop = loop
        self.owner = owner
        switch options.direction {
        case .download(let offset): replies = FTPReplies(offset: offset)
        case .attributes: replies = FTPReplies()
        case .upload: replies = FTPReplies(comesAtEnd: true)
        }
    }

    // MARK: - The owner's side

    func start() {
        lastActivity = loop.now
        connections.loop.submit { self.startTransfer() }
    }

    func setPaused(_ isPaused: Bool) {
        lastActivity = loop.now
        shared.withLock { $0.isPaused = isPaused }
        connections.loop.submit { self.applyPause() }
        drain()
    }

    func bodyBecameReadable() {
        connections.loop.submit { self.continueSending() }
    }

    func stop() {
        owner = nil
        connections.loop.submit {
            self.isStopped = true
            if let easy = self.easy { self.multi?.cancel(easy) }
            self.end()
        }
    }

    private func drain() {
        while let owner, let event = shared.withLock({ $0.next() }) {
            switch event {
            case .head(let head): owner.ftpLoad(self, received: head)
            case .sent(let total): owner.ftpLoad(self, sent: total)
            case .body(let piece):
                owner.load(self, received: piece)
                if shared.withLock({ $0.consumed(piece.count) }) { connections.loop.submit { self.applyPause() } }
            case .finished(let error): owner.loadFinished(self, error)
            }
        }
    }

    // MARK: - FTP's side

    private func startTransfer() {
        guard !isStopped else { return }
        do throws(TransferFailure) {
            let multi = try connections.currentMulti()
            easy = try multi.start(options, handler: self, hatches: hatches)
            self.multi = multi
            nudgeUntilDataFlows()
        } catch {
            end()
            post(.finished(URLError(error, of: hatches, url: request.url)))
        }
    }

    /// Until the data flows. Where a server answers before libcurl has looked away, libcurl before 8.7 takes the answer and asks
    /// for nothing more, though it has yet to connect for the data; and while a data connection shakes hands over TLS it waits for
    /// that alone, and forgets that the next reply comes over the other (https://github.com/curl/curl/pull/12913).
    private func nudgeUntilDataFlows(after delay: Duration = .milliseconds(20)) {
        stopNudging()
        guard !isDataFlowing, !isTransferPaused else { return }
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

    private func dataFlows() {
        guard !isDataFlowing else { return }
        isDataFlowing = true
        stopNudging()
    }

    private func applyPause() {
        let isPaused = shared.withLock { $0.isPaused || $0.isFull }
        guard isPaused != isTransferPaused, let easy else { return }
        // Where libcurl can't yet, the next call of its asks again.
        guard easy.setPaused(isPaused) else { return }
        isTransferPaused = isPaused
        nudgeUntilDataFlows()
    }

    private func continueSending() {
        guard !isTransferPaused else { return }
        _ = easy?.setPaused(false)
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

extension FTPLoad: TransferHandler {
    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        switch replies.consume(lines: headerLine) {
        case .incomplete: break
        case .complete(let head): post(.head(head))
        case .malformed, .unparsable:
            abortError = URLError(.badServerResponse, request.url, "The response's head is not valid or too large.")
            return .abort
        }
        return .accepted
    }

    func transferReceived(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        // libcurl puts attributes into words.
        if case .attributes = options.direction { return .accepted }
        dataFlows()
        shared.withLock { shared in
            if shared.body.append(bytes, expected: nil) { shared.isFull = true }
        }
        // Now: behind the last byte, libcurl may wait for the server before it returns.
        post(nil)
        return .accepted
    }

    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        guard let body else { return .bytes(0) }
        dataFlows()
        guard !shared.withLock({ $0.isPaused }) else { return .pause }
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
        end()
        let isRefused = failure.map { Self.refusals.contains($0.code.rawValue) } ?? false
        var error = abortError ?? failure.map { URLError($0, url: request.url) }
        if failure == nil || isRefused, let head = replies.finish(isRefused: isRefused) {
            // The head says it all.
            error = nil
            post(.head(head))
        }
        post(.finished(error))
    }

    /// FTP_COULDNT_USE_REST and BAD_DOWNLOAD_RESUME.
    private static let refusals: Set<UInt32> = [31, 36]
}

extension FTPLoad.Shared {
    fileprivate mutating func append(_ event: FTPLoad.Event) {
        if case .sent = event, case .sent = events.last { events.removeLast() }
        events.append(event)
    }

    /// What the owner is told next: the end comes behind the body, everything else before it.
    fileprivate mutating func next() -> FTPLoad.Event? {
        guard !isPaused else { return nil }
        switch events.first {
        case .finished where !body.isEmpty, nil: return body.popFirst().map { .body($0) }
        case .some(let event):
            events.removeFirst()
            return event
        }
    }

    /// True when the transfer may go on.
    fileprivate mutating func consumed(_ count: Int) -> Bool {
        guard body.consumed(count) else { return false }
        isFull = false
        return true
    }
}
