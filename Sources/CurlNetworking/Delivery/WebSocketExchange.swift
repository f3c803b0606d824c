import CurlNetworkingLocks
import Foundation

/// What a program and a web socket's connection have for each other: messages, pings, and the wish to close. Any thread, but for what says
/// otherwise.
///
/// Handlers are called on the delegate queue, in the order of their results; Swift tasks are resumed without it. Nothing is called with the
/// lock held.
final class WebSocketExchange: Sendable {
    /// What the program set when it made the task.
    let handshake: WebSocketHandshake
    private let state = Mutex(State())
    /// Locked before `state`, never after it, and by the loop only when it has something to send.
    private let line = Mutex(Line.held)

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

    /// A message of which the system hasn't taken all.
    struct Unfinished: Sendable {
        /// Of its frame.
        let rest: [UInt8]
        let waiter: Waiter<Void>
    }

    /// Whose turn it is to send.
    private enum Line {
        /// The connection's.
        case held
        /// Anybody's who has a message: nothing is ahead of it.
        case lent(WebSocketSender)
        /// The connection's, which has yet to send that.
        case unfinished(Unfinished)

        func sender(for message: WebSocketMessage) -> WebSocketSender? {
            if case .lent(let sender) = self, message.count <= WebSocketSender.largestMessage { sender } else { nil }
        }

        /// It is the connection's turn.
        mutating func giveBack() {
            if case .lent = self { self = .held }
        }
    }

    /// A message or ping that the program wants sent.
    private struct Wish: Sendable {
        let waiter: Waiter<Void>
        /// Why it comes too late.
        var refusal: (any Error)?
        let owner: (any WebSocketExchangeOwner)?
        /// There is a connection.
        let isOpen: Bool
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

        var isOpen: Bool { if case .open = phase { true } else { false } }

        /// Adds a wish with `add`, unless it comes too late.
        mutating func note(
            _ isHandler: Bool,
            _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void,
            _ add: (inout State, Waiter<Void>) -> Void
        ) -> Wish {
            let waiter = Waiter(number: makeNumber(), isHandler: isHandler, resume: resume)
            var wish = Wish(waiter: waiter, owner: owner, isOpen: isOpen)
            if case .ended(let error) = phase {
                wish.refusal = error
            } else if closing != nil {
                wish.refusal = WebSocketExchange.closedError("The web socket is closing.")
            } else {
                add(&self, waiter)
            }
            return wish
        }

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

    /// Sends a message at once, on this thread, if nothing is ahead of it; otherwise the connection does.
    func send(
        _ message: WebSocketMessage,
        isHandler: Bool,
        _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let (wish, isSent) = line.withLock { line -> (Wish, Bool) in
            let sender = line.sender(for: message)
            let wish = state.withLock { state in
                state.note(isHandler, resume) { state, waiter in
                    if sender == nil { state.sends.append(Sending(message: message, waiter: waiter)) }
                }
            }
            guard let sender, wish.refusal == nil else {
                line.giveBack()
                return (wish, false)
            }
            let rest = sender.send(message)
            guard !rest.isEmpty else { return (wish, true) }
            line = .unfinished(Unfinished(rest: rest, waiter: wish.waiter))
            return (wish, false)
        }
        if isSent { hand(.success(()), to: wish.waiter, wish.owner, isOver: false) } else { pass(on: wish) }
    }

    func sendPing(isHandler: Bool, _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        pass(on: state.withLock { $0.note(isHandler, resume) { state, waiter in state.pings.append(waiter) } })
    }

    private func pass(on wish: Wish) {
        if let refusal = wish.refusal {
            hand(.failure(refusal), to: wish.waiter, wish.owner, isOver: !wish.isOpen)
        } else if wish.isOpen {
            wish.owner?.webSocketWishesChanged()
        }
    }

    /// False where there is no open connection that could be told.
    func close(_ closing: WebSocketClosing) -> Bool {
        let (isOpen, owner) = state.withLock { state in
            guard case .ended = state.phase else {
                if state.closing == nil {
                    state.closing = closing
                    (state.closeCode, state.closeReason) = (closing.code ?? 1005, closing.reason)
                }
                return (state.isOpen, state.owner)
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

    /// Lets anybody who has a message send it with `sender`, unless something waits to be sent.
    func lendLine(_ sender: WebSocketSender) -> Bool {
        line.withLock { line in
            let isIdle = state.withLock {
                $0.isOpen && $0.closing == nil && $0.sends.isEmpty && $0.pings.isEmpty
            }
            guard isIdle, case .held = line else { return false }
            line = .lent(sender)
            return true
        }
    }

    /// Called before the connection sends anything. Returns what it has to send before that.
    func takeLine() -> Unfinished? {
        line.withLock { line in
            defer { line = .held }
            if case .unfinished(let unfinished) = line { return unfinished }
            return nil
        }
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
