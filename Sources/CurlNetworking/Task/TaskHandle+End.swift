import Foundation

// The end of a task, as its owner sees it.

extension TaskHandle {
    /// The task has ended with `outcome`: hands it over, or leaves that to the delegate queue. Loop; once in a task's life. `metrics` are
    /// for a delegate that is to hear of them; otherwise nil.
    func send(_ outcome: Outcome, resumeData: Data?, metrics: TaskMetrics?) {
        let (consumer, hasDelegate, handlers) = shared.withLock { shared in
            shared.outcome = outcome
            if var metrics {
                metrics.showLast(shared.response)
                shared.metrics = metrics
            }
            defer { shared.resumeDataHandlers = [] }
            return (shared.consumer, shared.delegates.task != nil, shared.resumeDataHandlers)
        }
        for handler in handlers { post(.resumeData(resumeData, handler)) }
        // A Swift task that passed a delegate is resumed when that has heard everything; others don't wait for the queue.
        guard consumer.isAsync, !hasDelegate else { return post(.completed) }
        let (result, response) = shared.withLock { $0.complete() }
        count { _ in }
        if metrics != nil {
            shared.withLock { $0.consumer = .informed }
            post(.completed)
        } else {
            forget()
        }
        pool.loop.atEndOfRound { consumer.resume(with: result, response) }
    }

    /// The session no longer keeps the task.
    func forget() {
        let task = shared.withLock { $0.task.take() }
        releaseDelegate()
        session.remove(identifier: identifier)
        // Perhaps the last reference, and its deinit takes locks.
        withExtendedLifetime(task) {}
    }

    /// Releases the task's own delegate, once it has heard everything.
    func releaseDelegate() {
        let delegates = shared.withLock { shared in
            guard shared.machine.stage == .completed, shared.mailbox.isIdle else { return DelegateSet.none }
            defer { shared.delegates = .none }
            return shared.delegates
        }
        withExtendedLifetime(delegates) {}
    }
}
