import CurlTransport
import Foundation

/// The side of an `FTPTransfer` that faces the server, on FTP's loop, where libcurl blocks: see `FTPConnections`. It reports through its
/// `pipe`.
///
/// `@unchecked Sendable`: the variables are touched only on FTP's loop.
final class FTPConversation: @unchecked Sendable {
    private enum Stage {
        /// For its turn on FTP's loop.
        case waiting
        case running(EasyHandle, Multi)
        case ended
    }

    let pipe = FTPPipe()
    private let url: URL?
    private let connections: FTPConnections
    private let options: FTPOptions
    private let hooks: TransferHooks?
    private var body: (any RequestBody)?
    private var replies: FTPReplies
    private var stage = Stage.waiting
    private var nudge: Deadline?
    private var isDataFlowing = false
    /// Whether libcurl was told to send nothing while the task is suspended; it asks for more bytes only after it is told to resume.
    private var isSendingHeld = false
    private var sentBytes: Int64 = 0
    private var receivedBytes: Int64 = 0
    private var abortError: URLError?

    init(
        _ options: FTPOptions,
        url: URL?,
        body: (any RequestBody)?,
        hooks: TransferHooks?,
        connections: FTPConnections
    ) {
        self.options = options
        self.url = url
        self.body = body
        self.hooks = hooks
        self.connections = connections
        replies = FTPReplies(to: options)
    }

    private var easy: EasyHandle? {
        if case .running(let easy, _) = stage { easy } else { nil }
    }

    // MARK: - Requests from the transfer, on its loop

    func start() {
        connections.loop.submit { self.begin() }
    }

    /// Called when `FTPPipe.isBlocked` may have changed.
    func pauseChanged() {
        connections.loop.submit { self.applyPause() }
    }

    func bodyBecameReadable() {
        connections.loop.submit {
            guard let easy = self.easy, !easy.isPaused else { return }
            _ = easy.setPaused(false)
        }
    }

    /// Ends it without another report.
    func stop() {
        connections.loop.submit {
            if case .running(let easy, let multi) = self.stage { multi.cancel(easy) }
            self.end()
        }
    }

    // MARK: - FTP's loop

    private func begin() {
        guard case .waiting = stage else { return }
        pipe.begin()
        do throws(TransferFailure) {
            let multi = try connections.currentMulti()
            stage = .running(try multi.start(options, handler: self, hooks: hooks), multi)
            // An HTTP proxy doesn't speak first: it may keep the request for long.
            if options.httpProxy == nil { pipe.setPhase(.connecting) }
            nudgeUntilDataFlows()
            // The idle clock begins now.
            pipe.wake()
        } catch {
            end()
            pipe.post(.finished(URLError(error, of: hooks, url: url)))
        }
    }

    /// Makes libcurl look at its connections repeatedly until data flows: see `CurlQuirks.missesFTPEvents`.
    private func nudgeUntilDataFlows(after delay: Duration = .milliseconds(20)) {
        stopNudging()
        guard case .running(let easy, let multi) = stage, connections.quirks.missesFTPEvents, !easy.isPaused,
            !isDataFlowing
        else { return }
        let deadline = Deadline { [unowned self] in
            multi.runAll()
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
        pipe.setPhase(phase)
        stopNudging()
    }

    private func applyPause() {
        let isPaused = pipe.isBlocked
        guard let easy, isPaused != easy.isPaused || isSendingHeld else { return }
        isSendingHeld = false
        // If libcurl can't yet, its next callback tries again.
        if easy.setPaused(isPaused) { nudgeUntilDataFlows() }
    }

    private func end() {
        stopNudging()
        stage = .ended
        body.take()?.close()
    }
}

extension FTPConversation: TransferHandler {
    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        pipe.noteReply()
        if let easy { options.noteReply(to: easy) }
        switch replies.consume(lines: headerLine, isProxys: easy?.info.speaksFTP == false) {
        case .incomplete: break
        case .complete(let head): pipe.post(.head(head))
        case .malformed, .unparsable:
            abortError = .invalidHead(url)
            return .abort
        }
        return .accepted
    }

    func transferReceived(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        // libcurl writes attributes out as text.
        if case .attributes = options.direction { return .accepted }
        dataFlows(.receiving)
        if let head = replies.dataBegins() { pipe.post(.head(head)) }
        receivedBytes += Int64(bytes.count)
        pipe.append(bytes)
        // Report it now: after the last byte, libcurl may wait for the server before it returns.
        pipe.wake()
        return .accepted
    }

    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        guard let body else { return .bytes(0) }
        dataFlows(.sending)
        guard !pipe.isPaused else {
            isSendingHeld = true
            return .pause
        }
        do throws(URLError) {
            guard case .bytes(let count) = try body.read(into: buffer) else { return .pause }
            sentBytes += Int64(count)
            if count > 0 { pipe.post(.sent(sentBytes)) }
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
        if let easy { options.replySettled(of: easy) }
        applyPause()
        pipe.wake()
    }

    func transferFinished(_ failure: TransferFailure?) {
        if let failure, hasComeTooLate(failure) { return startAgain() }
        end()
        if let failure, Self.spoilingFailures.contains(failure.code) { connections.renew() }
        let isRefused = failure.map { Self.refusals.contains($0.code) } ?? false
        var error = abortError ?? failure.map { URLError(named($0), url: url) }
        if error == nil, replies.isCutShort(after: receivedBytes), case .download = options.direction {
            error = URLError(.cutShort, url: url)
        }
        if failure == nil || isRefused, let head = replies.finish(isRefused: isRefused) {
            // Already reported by the head.
            error = nil
            pipe.post(.head(head))
        }
        pipe.post(.finished(error))
    }

    /// Whether the server had given up the kept connection by the time the first command arrived. Then libcurl no longer keeps it.
    private func hasComeTooLate(_ failure: TransferFailure) -> Bool {
        guard let easy, easy.info.usesKeptConnection, !replies.hasAnswer else { return false }
        return replies.farewell != nil || [.sendError, .recvError].contains(failure.code)
    }

    /// Starts again on another connection. None of the body has been sent.
    private func startAgain() {
        stopNudging()
        stage = .waiting
        replies = FTPReplies(to: options)
        start()
    }

    /// libcurl calls it a time-out if the server ends the session.
    private func named(_ failure: TransferFailure) -> TransferFailure {
        guard failure.code == .operationTimedOut, let farewell = replies.farewell else { return failure }
        var named = failure
        (named.code, named.text) = (.recvError, "The server has ended the session: \(farewell)")
        return named
    }

    /// After these, libcurl keeps the connection all the same. But it takes the next transfer to have the type that was refused, or reads
    /// the replies that the server still owes to the last one.
    private static let spoilingFailures: Set<CurlCode> = [.ftpCouldntSetType, .ftpWeirdPASVReply]

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
