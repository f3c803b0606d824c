/// Messages that have arrived over a web socket, and the receivers that wait for them. A value, guarded by its exchange.
struct WebSocketInbox {
    typealias Receiver = WebSocketExchange.Waiter<WebSocketMessage>

    /// A message for the program. If it `makesRoom`, the connection, which had stopped reading, has to check again.
    struct Taken {
        let message: WebSocketMessage
        let makesRoom: Bool
    }

    /// The answer to a receiver.
    enum Answer {
        case taken(Taken)
        /// There is no message yet: the receiver waits.
        case wait
        /// The Swift task was already cancelled.
        case cancelled
        /// There won't be any more messages.
        case over
    }

    /// Whether messages are handed out, and if not, why.
    private enum State {
        case connecting
        /// The delegate hasn't been told yet that the web socket is open. If `isOver`, no more messages will arrive.
        case unannounced(isOver: Bool)
        case open
        /// Messages that have arrived can be received, but no more will arrive.
        case over
    }

    private var state = State.connecting
    /// Whether the task is suspended.
    private var isPaused = false
    private var messages = Fifo<WebSocketMessage>()
    private var receivers = WebSocketReceivers()
    /// Receivers that were cancelled before they waited.
    private var cancelled: Set<Int> = []

    /// The messages' cost, in bytes.
    private var cost = 0
    /// Whether nothing more may be read until the program has taken some messages.
    private(set) var isFull = false

    /// The bytes of waiting messages at which reading stops. Each message counts 64 more than its payload.
    static let highMark = 256 * 1024
    /// Reading continues when no more than this is left.
    static let lowMark = 128 * 1024
    private static let messageCost = 64
    /// The same for parsing bytes already read, when nothing follows them. Decompressed, they may be a thousand times as many.
    static let lastMark = 4 << 20

    /// Whether not even bytes already read are parsed.
    var isOverfull: Bool { cost >= Self.lastMark }

    private var handsOut: Bool {
        switch state {
        case .connecting, .unannounced: false
        case .open: !isPaused
        case .over: true
        }
    }

    /// The web socket is open, and its delegate, if it has one, hasn't been told yet.
    mutating func open(hasDelegate: Bool) {
        if case .connecting = state { state = hasDelegate ? .unannounced(isOver: false) : .open }
    }

    /// The delegate has been told that the web socket is open. Returns the same as `end`.
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

    var hasReceivers: Bool { !receivers.isEmpty }

    /// The next message and its receiver; nil if either is missing.
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

    /// Returns the receiver if it waits; otherwise keeps it from waiting.
    mutating func cancel(_ number: Int) -> Receiver? {
        let found = receivers.remove(number)
        if found == nil { cancelled.insert(number) }
        return found
    }

    /// The receiver has its result.
    mutating func forget(_ number: Int) {
        cancelled.remove(number)
    }

    /// No more messages will arrive. Returns the waiting receivers, each with its message if there is one left; none while the delegate
    /// hasn't been told that the web socket is open.
    ///
    /// - Parameter isCancelled: Drops the messages that have arrived, and doesn't wait for the delegate.
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
