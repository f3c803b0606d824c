/// Who does a session's tasks in another process: the client of a background session. Any thread.
protocol RemoteTasks: AnyObject, Sendable {
    /// Calls `body` once it is certain which tasks there are already; at once if it is.
    func afterAttaching(_ body: @escaping @Sendable () -> Void)

    /// The same, once the delegate has also been told of those that ended before this process was there.
    func afterTelling(_ body: @escaping @Sendable () -> Void)

    /// Calls `body` once all tasks that were resumed so far will be done even if this process ends; or can't be done.
    func afterRecording(_ body: @escaping @Sendable () -> Void)

    /// Has later requests use new connections, and if `forgets`, without credentials, decisions and cookies of before. Calls `body` once
    /// that is so.
    func renewConnections(forgetting forgets: Bool, _ body: @escaping @Sendable () -> Void)

    /// The session takes no more tasks; those that it doesn't know yet are cancelled as well if `cancels`.
    func sessionWasInvalidated(cancellingTasks cancels: Bool)

    /// The session is over, or was dropped.
    func close()
}
