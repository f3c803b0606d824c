import CurlNetworkingLocks
import CurlTransport
import Foundation

/// Carries events from an `FTPConversation` to its `FTPTransfer`, which is on another loop. Any thread.
final class FTPPipe: Sendable {
    enum Event {
        case head(ResponseHead)
        case sent(Int64)
        case body(Data)
        case finished(URLError?)
    }

    fileprivate struct State {
        var events: [Event] = []
        var body = BodyBuffer()
        /// Runs on the reader's loop.
        var reader: (loop: EventLoop, run: @Sendable () -> Void)?
        var isWakeScheduled = false
        /// Set by the task.
        var isPaused = false
        /// Whether FTP's loop, which may have been waiting for another server, has begun the transfer.
        var hasBegun = false
        /// libcurl's own phase is available only on FTP's loop, which may be waiting for another server.
        var phase = TransferPhase.preparing
    }

    private let state = Mutex(State())

    // MARK: - The reader's side

    /// Runs `reader` on `loop` after each `post`, once for several. Called once, before anything else.
    func open(on loop: EventLoop, reader: @escaping @Sendable () -> Void) {
        state.withLock { $0.reader = (loop, reader) }
    }

    var isPaused: Bool { state.withLock { $0.isPaused } }
    var hasBegun: Bool { state.withLock { $0.hasBegun } }
    var phase: TransferPhase { state.withLock { $0.phase } }

    func setPaused(_ isPaused: Bool) {
        state.withLock { $0.isPaused = isPaused }
    }

    /// The reader's next event, nil if there is none or the task is paused: the end comes after the body, everything else before it.
    func next() -> Event? {
        state.withLock { $0.next() }
    }

    /// Notes that the reader is done with bytes of the body. True if the conversation may continue.
    func consumed(_ count: Int) -> Bool {
        state.withLock { $0.body.consumed(count) }
    }

    // MARK: - The conversation's side

    /// Whether the conversation should pause.
    var isBlocked: Bool { state.withLock { $0.isPaused || $0.body.isAboveHighMark } }

    func begin() {
        state.withLock { $0.hasBegun = true }
    }

    func setPhase(_ phase: TransferPhase) {
        state.withLock { $0.phase = phase }
    }

    /// Called when the server, or its proxy, replies.
    func noteReply() {
        state.withLock { if $0.phase == .connecting { $0.phase = .securing } }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { _ = $0.body.append(bytes, expected: nil) }
    }

    func post(_ event: Event) {
        state.withLock { $0.append(event) }
        wake()
    }

    /// Lets the reader run.
    func wake() {
        let reader = state.withLock { state in
            defer { state.isWakeScheduled = true }
            return state.isWakeScheduled ? nil : state.reader
        }
        reader?.loop.submit {
            self.state.withLock { $0.isWakeScheduled = false }
            reader?.run()
        }
    }
}

extension FTPPipe.State {
    fileprivate mutating func append(_ event: FTPPipe.Event) {
        if case .sent = event, case .sent = events.last { events.removeLast() }
        events.append(event)
    }

    fileprivate mutating func next() -> FTPPipe.Event? {
        guard !isPaused else { return nil }
        switch events.first {
        case .finished where !body.isEmpty, nil: return body.popFirst().map { .body($0) }
        case .some(let event):
            events.removeFirst()
            return event
        }
    }
}
