/// The task of a web socket, as its exchange knows it. Any thread, but for what says otherwise.
protocol WebSocketExchangeOwner: AnyObject, Sendable {
    /// The program wants something: the connection is to look.
    func webSocketWishesChanged()

    /// Adds `body` to what the delegate queue calls, after everything that was added before, also when the task is over. Called with a lock held.
    /// True if `deliverCalls()` has to follow.
    func addCall(_ body: @escaping @Sendable () -> Void) -> Bool

    /// Has the delegate queue make the calls. Called without a lock.
    func deliverCalls()

    /// Loop.
    func tell(_ event: TaskEvent)

    /// Whether a delegate hears that the web socket opens.
    var announcesWebSocket: Bool { get }
}
