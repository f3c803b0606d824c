/// The task of a web socket, as its exchange sees it. Any thread, unless a method says otherwise.
protocol WebSocketExchangeOwner: AnyObject, Sendable {
    /// The program has something to send, wants to close, or has made room for more: the connection has to check.
    func webSocketExchangeChanged()

    /// Adds `body` to the calls that the delegate queue makes, even when the task is over. Results and messages go ahead of the end: of the
    /// event that the web socket is closed, of failures and of the completion. Failures go ahead of the completion. Otherwise calls come
    /// after everything added earlier. Called with a lock held. Returns true if `deliverCalls()` has to follow.
    func addCall(_ kind: Mailbox.CallKind, _ body: @escaping @Sendable () -> Void) -> Bool

    /// Makes the calls on the delegate queue. Called without a lock.
    func deliverCalls()

    /// The program wants to close: its messages no longer wait until it resumes the task. Called without a lock.
    func releaseMessages()

    /// Runs `action` once the response that opens the web socket may be shown, which is when its cookies are stored. Loop.
    func whenShown(_ action: @escaping () -> Void)

    /// Loop. May be called with a lock held.
    func tell(_ event: TaskEvent)

    /// Whether the program has suspended the task. Called with a lock held.
    var isSuspended: Bool { get }

    /// Whether a delegate is told that the web socket is open.
    var announcesWebSocket: Bool { get }
}
