import CurlTransport

extension _URLSessionAdditions where Self: URLSession {
    /// An executor that runs Swift tasks on the session's event loop, so awaiting one of its requests switches no threads; nil unless
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
    /// Use it for code that sends requests one after another: each costs about a quarter less CPU and takes about a quarter less
    /// time. Tasks on this executor run one at a time, and the session's transfers wait until the running task reaches its next
    /// `await`. Don't block or compute for long in such a task; leave that to a task without the preference, such as `Task.detached`.
    /// The session's delegate and its completion handlers are still called on ``delegateQueue``.
    ///
    /// With several event loops (``CurlOptions/eventLoops``), it is the first; requests to hosts on the others switch threads as usual.
    ///
    /// Any thread. Tasks may use it even after the session has been invalidated or released. Source:
    /// [SE-0417](https://github.com/swiftlang/swift-evolution/blob/main/proposals/0417-task-executor-preference.md).
    public var taskExecutor: (any TaskExecutor)? {
        core.settings.runsTasksOnEventLoop ? core.pools.first.loop : nil
    }
}
