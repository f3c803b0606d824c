import Locks

/// The tasks of a session that were never resumed, which its public object keeps. Any thread.
///
/// A task lets go of its session in its `deinit`, and that takes locks: so none ends within this one.
final class CreatedTasks: Sendable {
    private let tasks = Mutex<[Int: URLSessionTask]>([:])

    func add(_ task: URLSessionTask, identifier: Int) {
        tasks.withLock { $0[identifier] = task }
    }

    func remove(_ identifier: Int) {
        let task = tasks.withLock { $0.removeValue(forKey: identifier) }
        withExtendedLifetime(task) {}
    }

    func removeAll() {
        let removed = tasks.withLock { tasks in
            defer { tasks = [:] }
            return tasks
        }
        withExtendedLifetime(removed) {}
    }
}
