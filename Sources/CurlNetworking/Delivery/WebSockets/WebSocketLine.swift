/// Whose turn it is to send on a web socket's connection. A value, guarded by its exchange.
enum WebSocketLine {
    /// A message that the system has taken only in part.
    struct Unfinished: Sendable {
        /// The rest of its frame.
        let rest: [UInt8]
        let waiter: WebSocketExchange.Waiter<Void>
    }

    /// It is the connection's turn.
    case held
    /// Any caller may send its message: nothing is ahead of it.
    case lent(WebSocketSender)
    /// It is the turn of the connection, which has to send this first.
    case unfinished(Unfinished)

    /// nil if the connection has to send the message.
    func sender(for message: WebSocketMessage) -> WebSocketSender? {
        if case .lent(let sender) = self, message.count <= WebSocketSender.largestMessage { sender } else { nil }
    }

    /// Returns false if the connection has something to send.
    mutating func lend(_ sender: WebSocketSender) -> Bool {
        guard case .held = self else { return false }
        self = .lent(sender)
        return true
    }

    /// Returns the turn to the connection.
    mutating func giveBack() {
        if case .lent = self { self = .held }
    }

    /// Returns the turn to the connection, with what it has to send first.
    mutating func take() -> Unfinished? {
        defer { self = .held }
        if case .unfinished(let unfinished) = self { return unfinished }
        return nil
    }
}
