import CurlNetworkingLocks

/// Forwards a Swift task's cancellation to the session task that works for it, whichever of the two comes first.
final class TaskCanceller: Sendable {
    private let state = Mutex(State.waiting)

    private enum State {
        case waiting
        case armed(URLSessionTask)
        case cancelled
    }

    /// Called before `task` is resumed.
    func arm(_ task: URLSessionTask) {
        let isCancelled = state.withLock { state in
            if case .cancelled = state { return true }
            state = .armed(task)
            return false
        }
        if isCancelled { task.cancel() }
    }

    /// Any thread; never blocks.
    func cancel() {
        let task = state.withLock { state -> URLSessionTask? in
            defer { state = .cancelled }
            if case .armed(let task) = state { return task }
            return nil
        }
        task?.cancel()
    }
}
