/// Runs a session's tasks in another process: the client of a background session. Any thread.
protocol RemoteTasks: AnyObject, Sendable {
    /// Calls `body` once it is known which tasks already exist, or at once if it is known.
    func afterAttaching(_ body: @escaping @Sendable () -> Void)

    /// Does the same once the delegate has also been told of the ends of all tasks that aren't listed: those that ended before this process
    /// attached, those that are cancelled, and those whose end is being delivered.
    func afterTelling(_ body: @escaping @Sendable () -> Void)

    /// Calls `body` once all tasks resumed so far will be run even if this process ends, or can't be run at all.
    func afterRecording(_ body: @escaping @Sendable () -> Void)

    /// Makes later requests use new connections and, if `forgets`, none of the earlier credentials, decisions and cookies. Calls `body`
    /// once this is in effect.
    func renewConnections(forgetting forgets: Bool, _ body: @escaping @Sendable () -> Void)

    /// Called when the session takes no more tasks. If `cancels`, tasks that it doesn't know yet are also cancelled.
    func sessionWasInvalidated(cancellingTasks cancels: Bool)

    /// Called when the session has ended or was released.
    func close()
}
