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
        // A Swift task that brought a delegate goes on when that has heard everything; others don't wait for the queue.
        guard consumer.isAsync, !hasDelegate else {
            let waits = shared.withLock { shared in
                if outcome.error != nil { shared.isBeingRead = false }
                return shared.isBeingRead
            }
            return waits ? () : post(.completed)
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

    /// The session keeps the task no longer.
    private func forget() {
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

    // MARK: - On the delegate queue

    /// What is to be told of the end; once in a task's life.
    func endSteps(_ messenger: DelegateMessenger) -> [TaskEnd] {
        let (consumer, metrics) = shared.withLock { ($0.consumer, $0.metrics.take()) }
        let metricsStep = messenger.delegates.task == nil ? nil : metrics.map(TaskEnd.metrics)
        if case .informed = consumer { return [metricsStep, .over].compactMap { $0 } }
        // Whoever hears of the end finds the task's `Progress` there.
        let (result, response) = shared.withLock { $0.complete() }
        showProgress()
        // Captured streams were the last message about the task.
        if consumer.port?.wasCaptured == true { return [.over] }
        var download: TaskEnd?
        if consumer.isDelegate, case .success(.file(let file)) = result { download = .downloaded(file) }
        return [download, metricsStep, .result(result, response)].compactMap { $0 }
    }

    /// True when that called the program's code.
    func deliver(_ step: TaskEnd, _ messenger: DelegateMessenger) -> Bool {
        switch step {
        case .downloaded(let file):
            return messenger.tell(downloadedTo: file)
        case .metrics(let metrics):
            return messenger.tell(metrics)
        case .result(let result, let response):
            deliver(result, response, messenger)
            return true
        case .over:
            forget()
            return false
        }
    }

    private func deliver(
        _ result: Result<Outcome, URLError>,
        _ response: URLResponse?,
        _ messenger: DelegateMessenger
    ) {
        let consumer = shared.withLock { $0.consumer }
        switch consumer {
        case .informed:
            break
        case .delegate, .downloadDelegate, .stream:
            messenger.tellCompletion(with: result.failure?.shown)
        case .dataHandler(let handler):
            if case .success(.data(let data)) = result {
                handler(data, response, nil)
            } else {
                handler(nil, response, result.failure?.shown)
            }
        case .fileHandler(let handler):
            if case .success(.file(let file)) = result {
                handler(file.url, response, nil)
                file.removeIfStillThere()
            } else {
                handler(nil, response, result.failure?.shown)
            }
        case .data, .file, .bytes:
            forget()
            return consumer.resume(with: result, response)
        }
        forget()
    }
}
