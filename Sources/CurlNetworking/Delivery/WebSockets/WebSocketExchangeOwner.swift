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
