import CurlNetworkingLocks
import Foundation

/// The task of a web socket, as its exchange knows it. Any thread, but for what says otherwise.
protocol WebSocketExchangeOwner: AnyObject, Sendable {
    /// The program wants something: the connection is to look.
    func webSocketWishesChanged()

    /// Has the delegate queue call `body`, after everything that was posted before.
    func call(_ body: @escaping @Sendable () -> Void)

    /// Has the delegate queue call `body`, also when the task is over.
    func callAfterEnd(_ body: @escaping @Sendable () -> Void)

    /// Loop.
    func tell(_ event: TaskEvent)

    /// Whether a delegate hears that the web socket opens.
    var announcesWebSocket: Bool { get }
}

/// What a program and a web socket's connection have for each other: messages, pings, and the wish to close. Any thread, but for what says
/// otherwise.
///
/// Handlers are called on the delegate queue, in the order of their results; Swift tasks are resumed without it. Nothing is called with the
/// lock held.
final class WebSocketExchange: Sendable {
    /// What the program set when it made the task.
    let handshake: WebSocketHandshake
    private let state = Mutex(State())

    init(_ handshake: WebSocketHandshake) {
        self.handshake = handshake
    }

    /// Somebody waits for a result. `isHandler` is false for a Swift task.
    struct Waiter<Value: Sendable>: Sendable {
        let number: Int
        let isHandler: Bool
        let resume: @Sendable (Result<Value, any Error>) -> Void
    }

    /// A message that is to be sent, and who waits for that.
    struct Sending: Sendable {
        let message: WebSocketMessage
        let waiter: Waiter<Void>
    }

    private enum Phase {
        case connecting
        case open
        /// Why everything fails from now on.
        case ended(any Error)
    }

    private struct State {
        var phase = Phase.connecting
        weak var owner: (any WebSocketExchangeOwner)?
        var maximumMessageSize = 1024 * 1024
        var lastNumber = 0

        // From the server
        var received = Fifo<WebSocketMessage>()
        var receivedCost = 0
        var receivers = Fifo<Waiter<WebSocketMessage>>()
        /// Receivers that were cancelled while they waited.
        var cancelled: Set<Int> = []
        /// The delegate has been told that the web socket is open, or nobody is to be told.
        var isAnnounced = false
        /// The task is suspended: nobody gets anything.
        var isPaused = false

        // To the server
        var sends = Fifo<Sending>()
        var pings = Fifo<Waiter<Void>>()
        /// Whose messages and pings didn't come to their end before the connection did.
        var unfinished: [Waiter<Void>] = []
        /// The program wants to close, once everything before is sent.
        var closing: WebSocketClosing?

        // The end
        var closeCode: Int?
        var closeReason: Data?

        mutating func makeNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    /// Something to be done once the lock is free.
    typealias Delivery = @Sendable () -> Void

    /// Called once, before the task is resumed. The task keeps the exchange, and not the other way round.
    func join(_ owner: any WebSocketExchangeOwner) {
        state.withLock { $0.owner = owner }
    }

    private var owner: (any WebSocketExchangeOwner)? { state.withLock { $0.owner } }

    // MARK: - Settings

    /// In bytes.
    var maximumMessageSize: Int {
        get { state.withLock { $0.maximumMessageSize } }
        set { state.withLock { $0.maximumMessageSize = max(0, newValue) } }
    }

    /// nil while no close frame was sent or has come.
    var closeCode: Int? { state.withLock { $0.closeCode } }
    var closeReason: Data? { state.withLock { $0.closeReason } }

    // MARK: - The program's wishes

    /// How many bytes of messages wait for the program before nothing more is read. Each counts 64 more than its payload.
    static let highMark = 64 * 1024
    private static let cost = 64

    /// A number that no other receiver has.
    func makeReceiver() -> Int { state.withLock { $0.makeNumber() } }

    /// Asks for the next message.
    func receive(
        _ number: Int,
        isHandler: Bool,
        _ resume: @escaping @Sendable (Result<WebSocketMessage, any Error>) -> Void
    ) {
        enum Answer { case wait, message(WebSocketMessage, isCaughtUp: Bool), failure(any Error) }
        let (waiter, answer, owner, isOver) = state.withLock { state in
            let waiter = Waiter(number: number, isHandler: isHandler, resume: resume)
            var isOver = false
            if case .ended = state.phase { isOver = true }
            if state.cancelled.remove(waiter.number) != nil {
                return (waiter, Answer.failure(CancellationError()), state.owner, isOver)
            }
            if state.receivers.isEmpty, isOver || state.isAnnounced && !state.isPaused,
                let message = state.received.popFirst()
            {
                let wasFull = state.receivedCost >= Self.highMark
                state.receivedCost -= message.count + Self.cost
                let isCaughtUp = wasFull && state.receivedCost < Self.highMark
                return (waiter, .message(message, isCaughtUp: isCaughtUp), state.owner, isOver)
            }
            if case .ended(let error) = state.phase { return (waiter, .failure(error), state.owner, isOver) }
            state.receivers.append(waiter)
            return (waiter, .wait, state.owner, isOver)
        }
        switch answer {
        case .wait:
            // Messages may wait for the web socket's announcement.
            break
        case .message(let message, let isCaughtUp):
            hand(.success(message), to: waiter, owner, isOver: isOver)
            if isCaughtUp { owner?.webSocketWishesChanged() }
        case .failure(let error):
            hand(.failure(error), to: waiter, owner, isOver: isOver)
        }
    }

    /// The Swift task that waits for a message, or is about to, was cancelled.
    func cancelReceiver(_ number: Int) {
        let waiter = state.withLock { state -> Waiter<WebSocketMessage>? in
            var others = Fifo<Waiter<WebSocketMessage>>()
            var found: Waiter<WebSocketMessage>?
            while let waiter = state.receivers.popFirst() {
                if waiter.number == number { found = waiter } else { others.append(waiter) }
            }
            state.receivers = others
            if found == nil { state.cancelled.insert(number) }
            return found
        }
        waiter?.resume(.failure(CancellationError()))
    }

    /// The receiver has its result.
    func forgetReceiver(_ number: Int) {
        state.withLock { _ = $0.cancelled.remove(number) }
    }

    func send(
        _ message: WebSocketMessage,
        isHandler: Bool,
        _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        wish(isHandler, resume) { $0.sends.append(Sending(message: message, waiter: $1)) }
    }

    func sendPing(isHandler: Bool, _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        wish(isHandler, resume) { $0.pings.append($1) }
    }

    private func wish(
        _ isHandler: Bool,
        _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void,
        _ note: (inout State, Waiter<Void>) -> Void
    ) {
        let (waiter, refusal, owner, isOpen) = state.withLock { state in
            let waiter = Waiter(number: state.makeNumber(), isHandler: isHandler, resume: resume)
            switch state.phase {
            case .ended(let error): return (waiter, error as (any Error)?, state.owner, false)
            case .connecting, .open: break
            }
            guard state.closing == nil else {
                return (waiter, Self.closedError("The web socket is closing.") as (any Error)?, state.owner, true)
            }
            note(&state, waiter)
            if case .open = state.phase { return (waiter, nil, state.owner, true) }
            return (waiter, nil, state.owner, false)
        }
        if let refusal { return hand(.failure(refusal), to: waiter, owner, isOver: !isOpen) }
        if isOpen { owner?.webSocketWishesChanged() }
    }

    /// False where there is no open connection that could be told.
    func close(_ closing: WebSocketClosing) -> Bool {
        let (isOpen, owner) = state.withLock { state in
            guard case .ended = state.phase else {
                if state.closing == nil {
                    state.closing = closing
                    (state.closeCode, state.closeReason) = (closing.code ?? 1005, closing.reason)
                }
                if case .open = state.phase { return (true, state.owner) }
                return (false, state.owner)
            }
            return (true, nil)
        }
        if isOpen { owner?.webSocketWishesChanged() }
        return isOpen
    }

    /// The error of everything that a closed web socket can't do.
    static func closedError(_ description: String) -> URLError {
        URLError(.networkConnectionLost, nil, description)
    }

    // MARK: - Handing over

    /// Has the result come to whoever waits for it.
    private func hand<Value>(
        _ result: Result<Value, any Error>,
        to waiter: Waiter<Value>,
        _ owner: (any WebSocketExchangeOwner)?,
        isOver: Bool
    ) {
        let body: Delivery = { waiter.resume(result) }
        guard waiter.isHandler, let owner else { return body() }
        if isOver { owner.callAfterEnd(body) } else { owner.call(body) }
    }

    // MARK: - The connection's side, on the loop

    /// The web socket is open, and speaks this protocol.
    func opened(_ subprotocol: String?) {
        let owner = owner
        owner?.tell(.openedWebSocket(subprotocol: subprotocol))
        let isAnnounced = owner?.announcesWebSocket != true
        state.withLock { state in
            if case .connecting = state.phase { state.phase = .open }
            state.isAnnounced = isAnnounced
        }
        if !isAnnounced {
            owner?.call { [weak self] in
                self?.state.withLock { $0.isAnnounced = true }
                self?.handOver(using: nil)
            }
        }
    }

    /// A message has come. `atEndOfRound` has what wakes other threads done later.
    func received(_ message: WebSocketMessage, _ atEndOfRound: @escaping (@escaping Delivery) -> Void) {
        state.withLock { state in
            state.received.append(message)
            state.receivedCost += message.count + Self.cost
        }
        handOver(using: atEndOfRound)
    }

    /// Matches messages with those who wait for them. Any thread.
    private func handOver(using atEndOfRound: ((@escaping Delivery) -> Void)?) {
        var isCaughtUp = false
        while true {
            let match = state.withLock { state -> (WebSocketMessage, Waiter<WebSocketMessage>, Bool)? in
                guard state.isAnnounced, !state.isPaused, !state.receivers.isEmpty,
                    let message = state.received.popFirst(), let waiter = state.receivers.popFirst()
                else { return nil }
                let wasFull = state.receivedCost >= Self.highMark
                state.receivedCost -= message.count + Self.cost
                return (message, waiter, wasFull && state.receivedCost < Self.highMark)
            }
            guard let (message, waiter, hasRoom) = match else { break }
            isCaughtUp = isCaughtUp || hasRoom
            if !waiter.isHandler, let atEndOfRound {
                atEndOfRound { waiter.resume(.success(message)) }
            } else {
                hand(.success(message), to: waiter, owner, isOver: false)
            }
        }
        // On the loop, the connection looks for itself.
        if isCaughtUp, atEndOfRound == nil { owner?.webSocketWishesChanged() }
    }

    /// Nothing more is to be read before the program has taken some.
    var isFull: Bool { state.withLock { $0.receivedCost >= Self.highMark } }

    func setPaused(_ isPaused: Bool, _ atEndOfRound: @escaping (@escaping Delivery) -> Void) {
        state.withLock { $0.isPaused = isPaused }
        if !isPaused { handOver(using: atEndOfRound) }
    }

    func takeSend() -> Sending? { state.withLock { $0.sends.popFirst() } }

    func takePing() -> Waiter<Void>? { state.withLock { $0.pings.popFirst() } }

    /// What the program wants to close with, when nothing is left to be sent before that.
    var closing: WebSocketClosing? {
        state.withLock { $0.sends.isEmpty && $0.pings.isEmpty ? $0.closing : nil }
    }

    /// Somebody's message or ping has come where it was to go, or couldn't.
    func complete(
        _ waiter: Waiter<Void>,
        _ result: Result<Void, any Error>,
        _ atEndOfRound: @escaping (@escaping Delivery) -> Void
    ) {
        if waiter.isHandler {
            hand(result, to: waiter, owner, isOver: false)
        } else {
            atEndOfRound { waiter.resume(result) }
        }
    }

    /// The close handshake is complete.
    func tellClosed(_ closing: WebSocketClosing) {
        owner?.tell(.closedWebSocket(code: closing.code ?? 1005, reason: closing.reason))
    }

    /// The connection is over, and these had no result. They get the task's.
    func giveBack(_ waiters: [Waiter<Void>]) {
        state.withLock { $0.unfinished += waiters }
    }

    /// A close frame has come, or the connection has failed so.
    func noteClosing(_ code: Int, _ reason: Data?) {
        state.withLock { ($0.closeCode, $0.closeReason) = (code, reason) }
    }

    /// The task is over: whoever waits for something gets `error`. What has come can still be received, unless the task was cancelled.
    func end(_ error: any Error, isCancelled: Bool, _ atEndOfRound: @escaping (@escaping Delivery) -> Void) {
        let (receivers, waiters, isFirst) = state.withLock { state in
            if case .ended = state.phase { return ([Waiter<WebSocketMessage>](), [Waiter<Void>](), false) }
            state.phase = .ended(error)
            state.isAnnounced = true
            if isCancelled { (state.received, state.receivedCost) = (Fifo(), 0) }
            var receivers: [Waiter<WebSocketMessage>] = []
            var waiters = state.unfinished
            state.unfinished = []
            while let receiver = state.receivers.popFirst() { receivers.append(receiver) }
            while let sending = state.sends.popFirst() { waiters.append(sending.waiter) }
            while let ping = state.pings.popFirst() { waiters.append(ping) }
            return (receivers, waiters, true)
        }
        guard isFirst else { return }
        let messages = state.withLock { state in
            receivers.map { _ in
                state.received.popFirst().map { Result<WebSocketMessage, any Error>.success($0) } ?? .failure(error)
            }
        }
        for (receiver, message) in zip(receivers, messages) {
            if receiver.isHandler {
                owner?.call { receiver.resume(message) }
            } else {
                atEndOfRound { receiver.resume(message) }
            }
        }
        for waiter in waiters { complete(waiter, .failure(error), atEndOfRound) }
    }
}
