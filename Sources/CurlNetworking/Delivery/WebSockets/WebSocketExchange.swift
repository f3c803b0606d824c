import CurlNetworkingLocks
import Foundation

/// What a program and a web socket's connection exchange: messages, pings, and the intent to close. Any thread, unless a method says
/// otherwise.
///
/// Handlers are called on the delegate queue, in the order of their results; Swift tasks are resumed directly. Nothing is called with the
/// lock held.
final class WebSocketExchange: Sendable {
    /// What the program set when it made the task.
    let offer: WebSocketHandshake.Offer
    /// Whether the program sees URLs with a web socket's scheme rather than those of the underlying requests.
    private let showsWebSocketURL: Bool
    private let state = Mutex(State())
    /// Locked before `state`, never after it, and by the loop only if it has something to send.
    private let line = Mutex(WebSocketLine.held)

    /// In bytes.
    static let defaultMaximumMessageSize = 1024 * 1024

    init(_ offer: WebSocketHandshake.Offer, showsWebSocketURL: Bool = true) {
        (self.offer, self.showsWebSocketURL) = (offer, showsWebSocketURL)
    }

    /// A request's URL as the program knows it.
    func shown(_ url: URL) -> URL { showsWebSocketURL ? WebSocketURL.shown(url) : url }

    /// A caller that waits for a result. `isHandler` is false for a Swift task.
    struct Waiter<Value: Sendable>: Sendable {
        let number: Int
        let isHandler: Bool
        let resume: @Sendable (Result<Value, any Error>) -> Void
    }

    /// A message to send, and the caller that waits for it.
    struct Sending: Sendable {
        let message: WebSocketMessage
        let waiter: Waiter<Void>
    }

    /// What became of a message or ping that the program wants to send.
    private enum Acceptance: Sendable {
        /// `owner` has to tell the connection; nil if there is none yet.
        case accepted(Waiter<Void>, owner: (any WebSocketExchangeOwner)?)
        /// It came too late; the call that says so, if there is one to make.
        case refused(Delivery?)
    }

    /// A message that a receiver has been handed.
    private struct HandOver {
        /// The call to make, if any.
        let delivery: Delivery?
        /// Whether the connection may read again.
        let makesRoom: Bool
        /// Whether another receiver waits.
        let mayBeFollowed: Bool
    }

    private enum Phase {
        case connecting
        case open
        /// The connection has ended, and the end is told.
        case disconnected
        /// The error with which everything fails from now on.
        case ended(any Error)
    }

    private struct State {
        var phase = Phase.connecting
        weak var owner: (any WebSocketExchangeOwner)?
        var maximumMessageSize = WebSocketExchange.defaultMaximumMessageSize
        var lastNumber = 0
        var inbox = WebSocketInbox()

        // To the server
        var sends = Fifo<Sending>()
        var pings = Fifo<Waiter<Void>>()
        /// The senders of messages and pings that were unfinished when the connection ended, or came too late.
        var unfinished: [Waiter<Void>] = []
        /// Set if the program wants to close, once everything before that is sent.
        var closing: WebSocketClosing?
        /// Whether the program has cancelled the task, of which the connection may not know yet.
        var isCancelled = false

        // The end
        var closeCode: Int?
        var closeReason: Data?
        /// Whether the server's close frame has arrived.
        var wasClosedByServer = false

        var isOpen: Bool { if case .open = phase { true } else { false } }

        /// Whether messages and the end wait: the program has suspended the task, and doesn't want to close.
        var isSuspended: Bool {
            switch phase {
            case .connecting, .open: closing == nil && owner?.isSuspended == true
            case .disconnected, .ended: false
            }
        }

        /// The error with which everything fails; nil before the end.
        var error: (any Error)? { if case .ended(let error) = phase { error } else { nil } }

        /// Adds a message or ping with `add`, unless it comes too late.
        mutating func accept(
            isHandler: Bool,
            _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void,
            adding add: (inout State, Waiter<Void>) -> Void
        ) -> Acceptance {
            let waiter = Waiter(number: makeNumber(), isHandler: isHandler, resume: resume)
            if let error { return .refused(WebSocketExchange.hand(.failure(error), to: waiter, owner)) }
            if closing != nil || isCancelled {
                // Earlier ones get their results first.
                unfinished.append(waiter)
                return .refused(nil)
            }
            add(&self, waiter)
            return .accepted(waiter, owner: isOpen ? owner : nil)
        }

        mutating func makeNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }

        /// Hands the last receivers a message each, or the error. Returns the calls to make.
        func end(
            _ receivers: [(WebSocketInbox.Receiver, WebSocketMessage?)],
            with error: any Error
        ) -> [Delivery] {
            receivers.compactMap { receiver, message in
                let result = message.map { Result<_, any Error>.success($0) } ?? .failure(error)
                return WebSocketExchange.hand(result, to: receiver, owner, as: .message)
            }
        }

        /// Hands a message to the receiver that waits for it; nil unless there are both.
        mutating func handOver() -> HandOver? {
            guard let (taken, receiver) = inbox.match() else { return nil }
            return HandOver(
                delivery: WebSocketExchange.hand(.success(taken.message), to: receiver, owner, as: .message),
                makesRoom: taken.makesRoom,
                mayBeFollowed: inbox.hasReceivers
            )
        }
    }

    /// A call to make once the lock is released.
    typealias Delivery = @Sendable () -> Void

    /// Called once, before the task is resumed. The task owns the exchange, not the other way round.
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

    /// nil until a close frame has been sent or received.
    var closeCode: Int? { state.withLock { $0.closeCode } }
    var closeReason: Data? { state.withLock { $0.closeReason } }

    /// Whether the server's close frame arrived before the end.
    var wasClosedByServer: Bool { state.withLock { $0.wasClosedByServer } }

    // MARK: - The program's side

    /// A number that no other receiver has.
    func makeReceiver() -> Int { state.withLock { $0.makeNumber() } }

    /// Asks for the next message.
    func receive(
        _ number: Int,
        isHandler: Bool,
        _ resume: @escaping @Sendable (Result<WebSocketMessage, any Error>) -> Void
    ) {
        let receiver = Waiter(number: number, isHandler: isHandler, resume: resume)
        let (delivery, reader) = state.withLock { state -> (Delivery?, (any WebSocketExchangeOwner)?) in
            let owner = state.owner
            switch state.inbox.receive(receiver) {
            case .wait:
                return (nil, nil)
            case .taken(let taken):
                let delivery = Self.hand(.success(taken.message), to: receiver, owner, as: .message)
                return (delivery, taken.makesRoom ? owner : nil)
            case .cancelled:
                return (Self.hand(.failure(CancellationError()), to: receiver, owner), nil)
            case .over:
                return (Self.hand(.failure(state.error ?? CancellationError()), to: receiver, owner), nil)
            }
        }
        delivery?()
        reader?.webSocketExchangeChanged()
    }

    /// The Swift task that waits for a message, or is about to wait, was cancelled.
    func cancelReceiver(_ number: Int) {
        state.withLock { $0.inbox.cancel(number) }?.resume(.failure(CancellationError()))
    }

    /// The receiver has its result.
    func forgetReceiver(_ number: Int) {
        state.withLock { $0.inbox.forget(number) }
    }

    /// Sends a message at once, on this thread, if nothing is ahead of it; otherwise leaves it to the connection.
    func send(
        _ message: WebSocketMessage,
        isHandler: Bool,
        _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let (delivery, owner) = line.withLock { line -> (Delivery?, (any WebSocketExchangeOwner)?) in
            let sender = line.sender(for: message)
            let acceptance = state.withLock { state in
                state.accept(isHandler: isHandler, resume) { state, waiter in
                    if sender == nil { state.sends.append(Sending(message: message, waiter: waiter)) }
                }
            }
            guard let sender, case .accepted(let waiter, let owner) = acceptance else {
                line.giveBack()
                return Self.remains(of: acceptance)
            }
            let rest = sender.send(message)
            // With the line held, so that handlers are called in the order of the messages.
            guard !rest.isEmpty else { return (Self.hand(.success(()), to: waiter, owner), nil) }
            line = .unfinished(WebSocketLine.Unfinished(rest: rest, waiter: waiter))
            return (nil, owner)
        }
        delivery?()
        owner?.webSocketExchangeChanged()
    }

    func sendPing(isHandler: Bool, _ resume: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        let acceptance = state.withLock { state in
            state.accept(isHandler: isHandler, resume) { state, waiter in state.pings.append(waiter) }
        }
        let (delivery, owner) = Self.remains(of: acceptance)
        delivery?()
        owner?.webSocketExchangeChanged()
    }

    /// The call to make without a lock, and the owner whose connection has to check the exchange.
    private static func remains(of acceptance: Acceptance) -> (Delivery?, (any WebSocketExchangeOwner)?) {
        switch acceptance {
        case .accepted(_, let owner): (nil, owner)
        case .refused(let delivery): (delivery, nil)
        }
    }

    /// Returns false if there is no open connection to tell.
    func close(_ closing: WebSocketClosing) -> Bool {
        let (isOpen, owner) = state.withLock { state -> (Bool, (any WebSocketExchangeOwner)?) in
            switch state.phase {
            case .disconnected, .ended: return (true, state.owner)
            case .connecting, .open: break
            }
            guard state.closing == nil else { return (state.isOpen, state.owner) }
            state.closing = closing
            // The server's values stay, if its frame arrived first.
            if state.closeCode == nil { (state.closeCode, state.closeReason) = (closing.status, closing.reason) }
            return (state.isOpen, state.owner)
        }
        guard isOpen else { return false }
        owner?.releaseMessages()
        owner?.webSocketExchangeChanged()
        return true
    }

    /// The program has cancelled the task: nothing that it sends from now on reaches the server.
    func cancelled() {
        state.withLock { $0.isCancelled = true }
    }

    /// The program has suspended or resumed the task.
    func suspensionChanged() {
        var isSuspended = false
        handOver(using: nil) { state in
            // Asked with the lock held: whichever thread is last finds the last intent.
            isSuspended = state.isSuspended
            state.inbox.setPaused(isSuspended)
        }
        // The connection may have ended meanwhile.
        if !isSuspended { owner?.webSocketExchangeChanged() }
    }

    // MARK: - Handing over

    /// Passes the result to the caller that waits for it. Called with the lock under which the result was found, so that handlers are
    /// called in the order of their results. Returns the call to make once the lock is released.
    private static func hand<Value>(
        _ result: Result<Value, any Error>,
        to waiter: Waiter<Value>,
        _ owner: (any WebSocketExchangeOwner)?,
        as kind: Mailbox.CallKind = .result
    ) -> Delivery? {
        let body: Delivery = { waiter.resume(result) }
        guard waiter.isHandler, let owner else { return body }
        let kind = if case .failure = result { Mailbox.CallKind.failure } else { kind }
        guard owner.addCall(kind, body) else { return nil }
        return { owner.deliverCalls() }
    }

    // MARK: - The connection's side, on the loop

    /// Runs `action` once the program may learn that the web socket is open: now if there is no task any more.
    func whenShown(_ action: @escaping () -> Void) {
        if let owner { owner.whenShown(action) } else { action() }
    }

    /// The web socket is open, and uses this protocol.
    func opened(_ subprotocol: String?) {
        let owner = owner
        owner?.tell(.openedWebSocket(subprotocol: subprotocol))
        let hasDelegate = owner?.announcesWebSocket == true
        state.withLock { state in
            if case .connecting = state.phase { state.phase = .open }
            state.inbox.open(hasDelegate: hasDelegate)
        }
        if hasDelegate, let owner, owner.addCall(.result, { [weak self] in self?.announced() }) { owner.deliverCalls() }
    }

    /// The delegate has been told that the web socket is open. Delegate queue.
    private func announced() {
        // Answers receivers left over from the task's end: its completion is already in the mailbox.
        let deliveries = state.withLock { state in
            let receivers = state.inbox.announce()
            return state.end(receivers, with: state.error ?? CancellationError())
        }
        for delivery in deliveries { delivery() }
        handOver(using: nil)
    }

    /// A message has arrived. `atEndOfRound` defers calls that wake other threads.
    func received(_ message: WebSocketMessage, _ atEndOfRound: @escaping (@escaping Delivery) -> Void) {
        handOver(using: atEndOfRound) { $0.inbox.append(message) }
    }

    /// Makes a change, and then hands messages to the receivers that wait for them. Any thread.
    private func handOver(
        using atEndOfRound: ((@escaping Delivery) -> Void)?,
        after change: (inout State) -> Void = { _ in }
    ) {
        var makesRoom = false
        var next = state.withLock { state in
            change(&state)
            return state.handOver()
        }
        while let handOver = next {
            makesRoom = makesRoom || handOver.makesRoom
            if let delivery = handOver.delivery {
                if let atEndOfRound { atEndOfRound(delivery) } else { delivery() }
            }
            next = handOver.mayBeFollowed ? state.withLock { $0.handOver() } : nil
        }
        // On the loop, the connection checks by itself.
        if makesRoom, atEndOfRound == nil { owner?.webSocketExchangeChanged() }
    }

    /// What the connection has to know before it reads, under one lock.
    var intake: (maximumMessageSize: Int, isFull: Bool, isOverfull: Bool) {
        state.withLock { ($0.maximumMessageSize, $0.inbox.isFull, $0.inbox.isOverfull) }
    }

    /// Whether nothing more may be read until the program has taken some messages.
    var isFull: Bool { state.withLock { $0.inbox.isFull } }

    /// Whether not even bytes already read may be parsed, although nothing follows them.
    var isOverfull: Bool { state.withLock { $0.inbox.isOverfull } }

    /// Lets callers send their messages with `sender`, unless something is waiting to be sent.
    func lendLine(_ sender: WebSocketSender) -> Bool {
        line.withLock { line in
            let isIdle = state.withLock {
                $0.isOpen && $0.closing == nil && $0.sends.isEmpty && $0.pings.isEmpty
            }
            return isIdle && line.lend(sender)
        }
    }

    /// Called before the connection sends anything. Returns what it has to send first.
    func takeLine() -> WebSocketLine.Unfinished? { line.withLock { $0.take() } }

    func takeSend() -> Sending? { state.withLock { $0.sends.popFirst() } }

    func takePing() -> Waiter<Void>? { state.withLock { $0.pings.popFirst() } }

    /// Whether the program wants to close.
    var isClosing: Bool { state.withLock { $0.closing != nil } }

    /// What the program wants to close with, once nothing has to be sent before it.
    var closing: WebSocketClosing? {
        state.withLock { $0.sends.isEmpty && $0.pings.isEmpty ? $0.closing : nil }
    }

    /// The system has taken a message, a ping has been answered, or either has failed.
    func complete(
        _ waiter: Waiter<Void>,
        _ result: Result<Void, any Error>,
        _ atEndOfRound: @escaping (@escaping Delivery) -> Void
    ) {
        if let delivery = Self.hand(result, to: waiter, owner) { atEndOfRound(delivery) }
    }

    /// The connection has ended, with the server's close frame or without. Hands out the messages that receivers wait for, and tells the
    /// delegate of the close. While the task is suspended, does nothing and returns false; `webSocketExchangeChanged()` follows.
    func disconnect(_ closing: WebSocketClosing?) -> Bool {
        let deliveries = state.withLock { state -> [Delivery]? in
            if state.isSuspended { return nil }
            if state.isOpen { state.phase = .disconnected }
            state.inbox.setPaused(false)
            var deliveries: [Delivery] = []
            while let handOver = state.handOver() {
                if let delivery = handOver.delivery { deliveries.append(delivery) }
            }
            // With the lock held, so that what receivers ask for next finds it in the mailbox.
            if let closing {
                state.wasClosedByServer = true
                state.owner?.tell(.closedWebSocket(code: closing.status, reason: closing.reason))
            }
            return deliveries
        }
        for delivery in deliveries ?? [] { delivery() }
        return deliveries != nil
    }

    /// Takes over callers that a connection left without a result. They get the task's.
    func giveBack(_ waiters: [Waiter<Void>]) {
        state.withLock { $0.unfinished += waiters }
    }

    /// A close frame has arrived, or the connection has failed with this status.
    func noteClosing(_ code: Int, _ reason: Data?) {
        state.withLock { ($0.closeCode, $0.closeReason) = (code, reason) }
    }

    /// The task is over: waiting callers get `error`. Messages that have arrived can still be received, unless the task was cancelled.
    func end(_ error: any Error, isCancelled: Bool, _ atEndOfRound: @escaping (@escaping Delivery) -> Void) {
        let (deliveries, unsent) = state.withLock { state -> ([Delivery], [Sending]) in
            guard state.error == nil else { return ([], []) }
            state.phase = .ended(error)
            let owner = state.owner
            var waiters = state.unfinished
            state.unfinished = []
            var unsent: [Sending] = []
            while let sending = state.sends.popFirst() { unsent.append(sending) }
            waiters += unsent.map(\.waiter)
            while let ping = state.pings.popFirst() { waiters.append(ping) }
            waiters.sort { $0.number < $1.number }
            let receivers = state.inbox.end(isCancelled: isCancelled)
            let received = state.end(receivers, with: error)
            return (received + waiters.compactMap { Self.hand(.failure(error), to: $0, owner) }, unsent)
        }
        // Released without the lock: a message's data may be the program's, with a deallocator.
        withExtendedLifetime(unsent) {}
        for delivery in deliveries { atEndOfRound(delivery) }
    }
}
