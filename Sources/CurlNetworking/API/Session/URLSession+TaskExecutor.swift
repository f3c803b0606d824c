import CurlTransport

extension URLSession {
    /// Runs Swift tasks on the session's event loop, so that an `await` of one of its requests switches no threads; nil unless
    /// ``CurlOptions/runsTasksOnEventLoop`` is set. An addition of this module.
    ///
    /// ```swift
    /// let bodies = try await withTaskExecutorPreference(session.taskExecutor) {
    ///     var bodies: [Data] = []
    ///     for url in urls { bodies.append(try await session.data(from: url).0) }
    ///     return bodies
    /// }
    /// ```
    ///
    /// It is for code that asks, looks at the answer, and asks again: such a request costs about a quarter less CPU and takes about a
    /// quarter less time. All tasks on it take turns on one thread at a time, and the session's transfers wait until the one that
    /// runs reaches its next `await`. Don't block or compute for long in one; leave that to a task without the preference, such as
    /// `Task.detached`. The session's delegate and its completion handlers are still called on ``delegateQueue``.
    ///
    /// With several event loops (``CurlOptions/eventLoops``) it is the first of them; requests to hosts on the others switch threads as usual.
    ///
    /// Any thread. Tasks may go on using it when the session is invalidated or gone. Source:
    /// [SE-0417](https://github.com/swiftlang/swift-evolution/blob/main/proposals/0417-task-executor-preference.md).
    public var taskExecutor: (any TaskExecutor)? {
        core.settings.runsTasksOnEventLoop ? core.pools.first.loop : nil
    }
}
