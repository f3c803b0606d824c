import Foundation

// How a task's end comes to its owner.

extension TaskHandle {
    /// The task has come to `outcome`: hands it over, or has the delegate queue do it. Loop; once in a task's life. `metrics` is what it has
    /// cost, where a delegate is to hear of that.
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
        if case .webSocket(let exchange) = consumer { end(exchange, with: outcome) }
        // A Swift task that brought a delegate goes on when that has heard everything; others don't wait for the queue.
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

    /// The session keeps the task no longer.
    func forget() {
        let task = shared.withLock { $0.task.take() }
        releaseDelegate()
        session.remove(identifier: identifier)
        // Perhaps the last reference, whose end takes locks.
        withExtendedLifetime(task) {}
    }

    /// Lets go of the task's own delegate, once it has heard everything.
    func releaseDelegate() {
        let delegates = shared.withLock { shared in
            guard shared.machine.stage == .completed, shared.mailbox.isIdle else { return DelegateSet.none }
            defer { shared.delegates = .none }
            return shared.delegates
        }
        withExtendedLifetime(delegates) {}
    }
}
