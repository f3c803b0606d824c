import Foundation

// The end of a task, as its owner sees it.

extension TaskHandle {
    /// The task has ended with `outcome`: hands it over, or leaves that to the delegate queue. Loop; once in a task's life. `metrics` are
    /// for a delegate that is to hear of them; otherwise nil.
    func send(_ outcome: Outcome, resumeData: Data?, metrics: TaskMetrics?) {
        let (consumer, schedules) = shared.withLock { shared -> (Consumer?, Bool) in
            shared.outcome = outcome
            if var metrics {
                metrics.showLast(shared.response)
                shared.metrics = metrics
            }
            var schedules = false
            for handler in shared.resumeDataHandlers {
                schedules = shared.mailbox.post(.resumeData(resumeData, handler)) || schedules
            }
            shared.resumeDataHandlers = []
            // A Swift task that brought a delegate goes on when that has heard everything; others don't wait for the queue.
            if shared.consumer.isAsync, shared.delegates.task == nil { return (shared.consumer, schedules) }
            if case .webSocket = shared.consumer { return (shared.consumer, schedules) }
            // A response that became a stream completes when it has been read.
            if outcome.error != nil { shared.isBeingRead = false }
            guard !shared.isBeingRead else { return (nil, schedules) }
            return (nil, shared.mailbox.post(.completed) || schedules)
        }
        if schedules { scheduleAtEndOfRound() }
        guard let consumer else { return }
        if case .webSocket(let exchange) = consumer {
            end(exchange, with: outcome)
            return post(.completed)
        }
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
        let (task, delegates) = shared.withLock { ($0.task.take(), $0.takeDelegatesIfDone()) }
        session.remove(identifier: identifier)
        // Perhaps the last references, whose end takes locks, or is the program's.
        withExtendedLifetime((task, delegates)) {}
    }

    /// Releases the task's own delegate, once it has heard everything.
    func releaseDelegate() {
        let delegates = shared.withLock { $0.takeDelegatesIfDone() }
        withExtendedLifetime(delegates) {}
    }

    /// A message has been delivered. True when there are more; else as `releaseDelegate()`.
    func delivered() -> Bool {
        let (hasMore, delegates) = shared.withLock { shared in
            shared.mailbox.delivered() ? (true, DelegateSet.none) : (false, shared.takeDelegatesIfDone())
        }
        withExtendedLifetime(delegates) {}
        return hasMore
    }
}
