/// Messages that have come over a web socket, and who waits for them. A value, which its exchange guards.
struct WebSocketInbox {
    typealias Receiver = WebSocketExchange.Waiter<WebSocketMessage>

    /// A message for the program. With `makesRoom`, the connection has to look again: it stopped reading before.
    struct Taken {
        let message: WebSocketMessage
        let makesRoom: Bool
    }

    /// What becomes of somebody who asks for a message.
    enum Answer {
        case taken(Taken)
        /// There is none yet: the receiver waits.
        case wait
        /// The Swift task was cancelled before.
        case cancelled
        /// There will be none.
        case over
    }

    /// Why nobody gets a message now, or that everybody does.
    private enum State {
        case connecting
        /// The delegate has yet to hear that the web socket is open. With `isOver`, nothing more will come.
        case unannounced(isOver: Bool)
        case open
        /// What has come can be had, and nothing more will come.
        case over
    }

    private var state = State.connecting
    /// The task is suspended.
    private var isPaused = false
    private var messages = Fifo<WebSocketMessage>()
    private var receivers = Fifo<Receiver>()
    /// Receivers that were cancelled before they waited.
    private var cancelled: Set<Int> = []

    /// Of the messages, in bytes.
    private var cost = 0
    /// Nothing more is to be read before the program has taken some.
    private(set) var isFull = false

    /// So many bytes of messages wait for the program before nothing more is read. Each counts 64 more than its payload.
    static let highMark = 256 * 1024
    /// Reading goes on when no more than that is left.
    static let lowMark = 128 * 1024
    private static let messageCost = 64

    /// Not even what was read with the last of them is taken in.
    var isOverfull: Bool { cost >= 2 * Self.highMark }

    private var handsOut: Bool {
        switch state {
        case .connecting, .unannounced: false
        case .open: !isPaused
        case .over: true
        }
    }

    /// The web socket is open, and its delegate, if it has one, has yet to hear of that.
    mutating func open(hasDelegate: Bool) {
        if case .connecting = state { state = hasDelegate ? .unannounced(isOver: false) : .open }
    }

    /// The delegate has heard that the web socket is open. Returns the same as `end`.
    mutating func announce() -> [(Receiver, WebSocketMessage?)] {
        guard case .unannounced(let isOver) = state else { return [] }
        state = isOver ? .over : .open
        return isOver ? takeReceivers() : []
    }

    mutating func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
    }

    mutating func append(_ message: WebSocketMessage) {
        messages.append(message)
        cost += message.count + Self.messageCost
        if cost >= Self.highMark { isFull = true }
    }

    private mutating func takeMessage() -> Taken? {
        guard handsOut, let message = messages.popFirst() else { return nil }
        cost -= message.count + Self.messageCost
        guard isFull, cost <= Self.lowMark else { return Taken(message: message, makesRoom: false) }
        isFull = false
        return Taken(message: message, makesRoom: true)
    }

    /// The next message and who gets it; nil where one of them is missing.
    mutating func match() -> (Taken, Receiver)? {
        guard !receivers.isEmpty, let taken = takeMessage(), let receiver = receivers.popFirst() else { return nil }
        return (taken, receiver)
    }

    mutating func receive(_ receiver: Receiver) -> Answer {
        if cancelled.remove(receiver.number) != nil { return .cancelled }
        if receivers.isEmpty, let taken = takeMessage() { return .taken(taken) }
        if case .over = state { return .over }
        receivers.append(receiver)
        return .wait
    }

    /// Returns the receiver if it waits; otherwise it won't.
    mutating func cancel(_ number: Int) -> Receiver? {
        var others = Fifo<Receiver>()
        var found: Receiver?
        while let receiver = receivers.popFirst() {
            if receiver.number == number { found = receiver } else { others.append(receiver) }
        }
        receivers = others
        if found == nil { cancelled.insert(number) }
        return found
    }

    /// The receiver has its result.
    mutating func forget(_ number: Int) {
        cancelled.remove(number)
    }

    /// Nothing more will come. Returns who waits, each with the message that is still there for it; nobody while the delegate has yet to hear
    /// that the web socket is open.
    ///
    /// - Parameter isCancelled: What has come is of no interest any more, nor what the delegate has heard.
    mutating func end(isCancelled: Bool) -> [(Receiver, WebSocketMessage?)] {
        if isCancelled { (messages, cost, isFull) = (Fifo(), 0, false) }
        if case .unannounced = state, !isCancelled {
            state = .unannounced(isOver: true)
            return []
        }
        state = .over
        return takeReceivers()
    }

    private mutating func takeReceivers() -> [(Receiver, WebSocketMessage?)] {
        var ended: [(Receiver, WebSocketMessage?)] = []
        while let receiver = receivers.popFirst() { ended.append((receiver, takeMessage()?.message)) }
        return ended
    }
}
