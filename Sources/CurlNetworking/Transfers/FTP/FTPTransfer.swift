import CurlTransport
import Foundation

/// One transfer from or to an FTP server: the task's side, on its loop. An `FTPConversation` talks to the server, on one of FTP's loops.
///
/// `@unchecked Sendable`: the variables are touched only on the loop.
final class FTPTransfer: Transfer, @unchecked Sendable {
    let request: URLRequest
    private let loop: EventLoop
    private weak var delegate: (any TransferDelegate)?
    let conversation: FTPConversation
    private(set) var lastActivity: MonotonicTime?
    private var wasPaused = false

    var source: HopMetrics.Source { .other }
    var isOfNetwork: Bool { true }

    init(
        _ options: FTPOptions,
        for request: URLRequest,
        body: (any RequestBody)?,
        hooks: TransferHooks?,
        connections: FTPConnections,
        loop: EventLoop,
        delegate: any TransferDelegate
    ) {
        self.request = request
        self.loop = loop
        self.delegate = delegate
        conversation = FTPConversation(options, url: request.url, body: body, hooks: hooks, connections: connections)
        pipe.open(on: loop) { [weak self] in self?.hearEvents() }
    }

    private var pipe: FTPPipe { conversation.pipe }

    func start() {
        lastActivity = loop.now
        conversation.start()
    }

    var isPaused: Bool { pipe.isPaused }
    var phase: TransferPhase { pipe.phase }

    func restartIdleClockIfMoved() -> Bool {
        guard !pipe.hasBegun else { return false }
        lastActivity = loop.now
        return true
    }

    func setPaused(_ isPaused: Bool) {
        lastActivity = loop.now
        if isPaused { wasPaused = true }
        pipe.setPaused(isPaused)
        conversation.pauseChanged()
        reportEvents()
    }

    func bodyBecameReadable() {
        conversation.bodyBecameReadable()
    }

    func cancel() {
        delegate = nil
        conversation.stop()
    }

    private func hearEvents() {
        lastActivity = loop.now
        reportEvents()
    }

    /// How many events are reported in one turn of the loop, with pieces of up to 64 KiB. More may keep arriving as fast as a slow disk
    /// takes them.
    private static let eventsPerTurn = 16

    private func reportEvents() {
        for _ in 0..<Self.eventsPerTurn {
            guard let delegate, let event = pipe.next() else { return }
            switch event {
            case .head(let head): report(head, to: delegate)
            case .sent(let total): delegate.transfer(self, sent: total)
            case .body(let piece):
                guard delegate.transfer(self, received: piece) else { return }
                if pipe.consumed(piece.count) { conversation.pauseChanged() }
            case .finished(let error): end(error, of: delegate)
            }
        }
        pipe.wake()
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
}
