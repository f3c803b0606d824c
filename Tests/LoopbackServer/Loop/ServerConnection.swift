import Foundation
import Glibc

/// One TCP connection: reads requests, gets them answered, and performs the answers' steps. Loop only.
final class ServerConnection {
    /// Where the connection stands between reading and answering.
    enum Phase {
        /// Between requests, or within the head of one.
        case idle
        /// The body is arriving; it will be answered when it's there.
        case receiving
        /// The answer is being sent while the body is arriving.
        case answeringEarly
        /// The answer is being sent and the body is there. What the client sends meanwhile is kept.
        case answering
        /// The answer has been sent and the body is still arriving.
        case draining
        /// HTTP is over, or never began.
        case conversing(LoopbackServer.Conversation)
        /// FIN has been sent. What the client sends is discarded until it closes too: closing at once would reset the
        /// connection, and the client could lose the answer.
        case lingering
        case closed
    }

    /// What has to happen before the answer's next step.
    enum Wait {
        case nothing
        case socketWritable
        /// It's the other connections' turn.
        case turn
        case deadline(ContinuousClock.Instant)
        case gate(Gate)
        case body
        /// This many bytes of the body.
        case bytes(upTo: Int64?, @Sendable (LoopbackServer.Request) -> [LoopbackServer.Step])
        case forever
    }

    /// How much is kept of requests that arrive while another is answered; then reading stops.
    static let pendingLimit = 1 << 20
    private static let lingerTime = Duration.seconds(1)

    // Only the files that extend this class use these.

    let core: ServerCore
    let socket: Int32
    let number: UInt64

    var phase = Phase.idle
    var parser: RequestParser
    /// Received, but for a later request.
    var pending: [UInt8] = []
    /// The client has sent FIN, and may.
    var hasClientFinished = false
    var isReadingStopped = false

    /// The request that's being received or answered.
    var request: LoopbackServer.Request?
    var requestCount = 0

    var wait = Wait.nothing
    var script = Script()
    var throttle: Throttle?

    private var interest: Readiness = .readable

    init(socket: Int32, number: UInt64, core: ServerCore) {
        self.socket = socket
        self.number = number
        self.core = core
        parser = RequestParser(headLimit: core.options.headLimit)
    }

    var isClosed: Bool {
        if case .closed = phase { return true }
        return false
    }

    /// Between two requests, with nothing received of the next one.
    var isIdle: Bool {
        guard case .idle = phase else { return false }
        return parser.isBetweenRequests && pending.isEmpty
    }

    // MARK: Events

    func opened() {
        guard case .stream(let conversation) = core.service else { return }
        begin(conversation(Int(number)))
        proceed()
        updateInterest()
    }

    func ready(_ readiness: Readiness) {
        if readiness.contains(.writable), isBlocked {
            setWait(.nothing)
            proceed()
        }
        if readiness.contains(.readable), !isClosed { receive() }
        if !readiness.isDisjoint(with: [.failed, .hungUp]), !isClosed {
            // The last bytes may still be in the kernel's buffer; only `receive` finds the end, unless it's held back.
            if !interest.contains(.readable) || readiness.contains(.failed) || hasClientFinished { close() }
        }
        updateInterest()
    }

    func deadlinePassed(_ now: ContinuousClock.Instant) {
        guard case .deadline(let deadline) = wait, deadline <= now else { return }
        if case .lingering = phase { return close() }
        setWait(.nothing)
        proceed()
        updateInterest()
    }

    func gateOpened(_ gate: Gate) {
        guard case .gate(let awaited) = wait, awaited === gate else { return }
        setWait(.nothing)
        proceed()
        updateInterest()
    }

    func turnCame() {
        guard case .turn = wait else { return }
        setWait(.nothing)
        proceed()
        updateInterest()
    }

    /// Continues with the answer and, when it's done, with the requests that came meanwhile.
    private func proceed() {
        perform()
        while canTakePending, !pending.isEmpty {
            let bytes = pending
            pending = []
            bytes.withUnsafeBytes { received($0) }
        }
        if case .idle = phase, hasClientFinished { close() }
    }

    private var canTakePending: Bool {
        switch phase {
        case .idle, .conversing: true
        case .receiving, .answeringEarly, .answering, .draining, .lingering, .closed: false
        }
    }

    // MARK: Waiting

    func setWait(_ wait: Wait) {
        let wasBlocked = isBlocked
        self.wait = wait
        if wasBlocked != isBlocked { core.recorder.note { $0.blocked += isBlocked ? 1 : -1 } }
        if case .deadline(let instant) = wait { core.loop.schedule(at: instant, token: number) }
    }

    private var isBlocked: Bool {
        if case .socketWritable = wait { return true }
        return false
    }

    private func updateInterest() {
        guard !isClosed else { return }
        var wanted: Readiness = isBlocked ? .writable : []
        if !isReadingStopped, !hasClientFinished, pending.count < Self.pendingLimit { wanted.insert(.readable) }
        guard wanted != interest else { return }
        interest = wanted
        core.loop.rewatch(socket, token: number, for: wanted)
    }

    // MARK: Ends

    /// FIN. Waits for the client's own if it's still sending a body.
    func finish() {
        switch phase {
        case .idle, .receiving, .answering, .conversing:
            close()
        case .answeringEarly, .draining:
            linger()
        case .lingering, .closed:
            break
        }
    }

    func linger() {
        cutOffBody()
        phase = .lingering
        script = Script()
        isReadingStopped = false
        Sockets.finish(socket)
        setWait(.deadline(.now + Self.lingerTime))
    }

    func close() {
        end { Glibc.close($0) }
    }

    func reset() {
        end { Sockets.reset($0) }
    }

    private func end(_ close: (Int32) -> Void) {
        assert(core.loop.isCurrent)
        guard !isClosed else { return }
        cutOffBody()
        phase = .closed
        script = Script()
        pending = []
        setWait(.nothing)
        // Within the note, so that a client that sees the end finds it recorded.
        core.recorder.note { state in
            close(socket)
            state.open -= 1
        }
        core.connectionClosed(number)
    }
}
