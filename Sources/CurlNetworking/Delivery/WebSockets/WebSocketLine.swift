/// Whose turn it is to send on a web socket's connection. A value, which its exchange guards.
enum WebSocketLine {
    /// A message of which the system hasn't taken all.
    struct Unfinished: Sendable {
        /// Of its frame.
        let rest: [UInt8]
        let waiter: WebSocketExchange.Waiter<Void>
    }

    /// The connection's.
    case held
    /// Anybody's who has a message: nothing is ahead of it.
    case lent(WebSocketSender)
    /// The connection's, which has yet to send that.
    case unfinished(Unfinished)

    /// nil where the connection has to send the message.
    func sender(for message: WebSocketMessage) -> WebSocketSender? {
        if case .lent(let sender) = self, message.count <= WebSocketSender.largestMessage { sender } else { nil }
    }

    /// False where the connection has something to send.
    mutating func lend(_ sender: WebSocketSender) -> Bool {
        guard case .held = self else { return false }
        self = .lent(sender)
        return true
    }

    /// It is the connection's turn.
    mutating func giveBack() {
        if case .lent = self { self = .held }
    }

    /// It is the connection's turn, which takes what it has to send first.
    mutating func take() -> Unfinished? {
        defer { self = .held }
        if case .unfinished(let unfinished) = self { return unfinished }
        return nil
    }
}
