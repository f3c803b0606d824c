// Where a task is loaded.

extension TaskRunner {
    /// Has `body` run on the task's loop. Any thread; never blocks.
    func submit(_ body: @escaping @Sendable () -> Void) {
        lane.loop.submit(body)
    }
}
