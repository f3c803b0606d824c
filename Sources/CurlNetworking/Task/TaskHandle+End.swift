import Foundation

// The end of a task, as its owner sees it.

extension TaskHandle {
    /// Hands over the `outcome` of a task that has ended, or leaves that to the delegate queue. Loop; called once per task. `metrics` are
    /// for a delegate that may want them; nil otherwise.
    func send(_ outcome: Outcome, resumeData: Data?, metrics: TaskMetrics?) {
        var consumer: Consumer?
        updateOnLoop { shared in
            shared.outcome = shared.consumer.shown(outcome)
            if var metrics {
                metrics.showLast(shared.response)
                if case .webSocket(let exchange) = shared.consumer { metrics.showRequests(by: exchange.shown) }
                shared.metrics = metrics
            }
            shared.post(resumeData: resumeData)
            // A Swift task that passed a delegate continues once that has received all messages; others don't wait for the queue.
            if shared.consumer.isAsync, shared.delegates.task == nil { return consumer = shared.consumer }
            if case .webSocket = shared.consumer { return consumer = shared.consumer }
            // A task whose response became a stream completes once it has been read.
            if outcome.error != nil { shared.endReading() }
            if !shared.isBeingRead { shared.mailbox.post(.completed) }
        }
        guard let consumer else { return convertIfAsked() }
        if case .webSocket(let exchange) = consumer {
            end(exchange, with: consumer.shown(outcome))
            return post(.completed)
        }
        complete(consumer)
    }

    /// Continues the Swift task that waits for the result.
    private func complete(_ consumer: Consumer) {
        let (result, response, unwanted) = shared.withLock { $0.complete() }
        updateOnLoop { $0.noteProgress() }
        if session.hasTaskDelegate {
            // The delegate receives all pending messages before the session forgets the task.
            shared.withLock { $0.consumer = .informed }
            post(.completed)
        } else {
            forget()
        }
        guard let unwanted else {
            return pool.loop.atEndOfRound { consumer.resume(with: result, response) }
        }
        WorkThreads.files.run {
            unwanted.removeIfStillThere()
            consumer.resume(with: result, response)
        }
    }

    /// The result has been in this process since the transfer ended.
    func prepareEnd() {}

    /// No other process needs to know that the owner has the result.
    func acknowledgeEnd() {}
}
