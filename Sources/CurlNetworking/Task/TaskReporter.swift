import Foundation

/// Delivers a task's messages to its delegate, handler or reader. Delegate queue; no lock is held while the program's code runs.
struct TaskReporter {
    private let handle: TaskHandle
    /// The task to name in messages that come after the task has released its public object.
    private let scheduledTask: URLSessionTask

    init(_ handle: TaskHandle, scheduledFor task: URLSessionTask) {
        self.handle = handle
        scheduledTask = task
    }

    /// Delivers one message; true if there are more. Messages that call no program code take no turn of their own.
    func deliverNext() -> Bool {
        while true {
            let (message, task) = handle.shared.withLock { ($0.mailbox.next(), $0.task ?? scheduledTask) }
            guard let message else { break }
            if deliver(message, about: task) { return handle.delivered() }
        }
        handle.releaseDelegate()
        return false
    }

    /// True if that called the program's code.
    private func deliver(_ message: Mailbox.Message, about task: URLSessionTask) -> Bool {
        switch message {
        case .progress:
            handle.showProgress()
            return false
        case .resumeData(let data, let handler):
            handler(data)
            return true
        case .call(let body):
            body()
            return true
        case .event, .question, .completed, .end:
            break
        }
        // Exists as long as a delegate is to hear of the task.
        guard let sender = handle.session.sender else { return false }
        let delegates = handle.ownDelegates.over(sender.delegates)
        let messenger = DelegateMessenger(session: sender.session, task: task, delegates: delegates)
        switch message {
        case .event(let event):
            return deliver(event, messenger)
        case .question(.disposition(let response)):
            return messenger.askDisposition(of: response) { handle.answer($0) }
        case .question(.partDisposition(let head)):
            defer { consumed(Mailbox.partCost) }
            // A part can't become a file or a stream.
            return messenger.askDisposition(of: showPart(head)) { handle.answer($0 == .cancel ? .cancel : .allow) }
        case .question(let question):
            return messenger.ask(question)
        case .completed:
            let steps = endSteps(messenger)
            if steps.count > 1 { handle.shared.withLock { $0.mailbox.goesOn(with: steps.dropFirst()) } }
            return steps.first.map { deliver($0, messenger) } ?? false
        case .end(let step):
            return deliver(step, messenger)
        case .progress, .resumeData, .call:
            return false
        }
    }

    private func deliver(_ event: TaskEvent, _ messenger: DelegateMessenger) -> Bool {
        switch event {
        case .body(let data):
            defer { consumed(data.count) }
            return messenger.tell(event)
        case .sent(let sent):
            return messenger.tell(event, growth: handle.shared.withLock { $0.mailbox.reportSent(sent) })
        case .wrote(let total):
            let (growth, expected) = handle.shared.withLock {
                ($0.mailbox.reportWritten(total), $0.counters.expectedToReceive)
            }
            return messenger.tell(event, growth: growth, expected: expected)
        case .resumed(let offset, _):
            guard handle.tellsDelegateOfResult else { return false }
            _ = handle.shared.withLock { $0.mailbox.reportWritten(offset) }
            return messenger.tell(event)
        case .becameDownload, .becameStream, .readClosed, .writeClosed, .captured, .isWaitingForConnectivity,
            .informational, .openedWebSocket, .closedWebSocket:
            return messenger.tell(event)
        }
    }

    private func consumed(_ count: Int) {
        if handle.shared.withLock({ $0.mailbox.consumed(count) }) { handle.consumerCaughtUp() }
    }

    /// Makes the response of a new part, and shows it as the task's.
    private func showPart(_ head: ResponseHead) -> URLResponse? {
        guard let url = handle.shared.withLock({ $0.currentRequest?.url }), let part = HTTPURLResponse(head, at: url)
        else {
            return nil
        }
        handle.shared.withLock { $0.response = part }
        return part
    }

    // MARK: - The end

    /// The messages of the end; called once in a task's life.
    private func endSteps(_ messenger: DelegateMessenger) -> [TaskEnd] {
        var metrics: TaskMetrics?
        var (hasProgress, isForDelegate, wasCaptured) = (false, false, false)
        let end = handle.shared.withLock { shared -> (result: Result<Outcome, URLError>, response: URLResponse?)? in
            (metrics, hasProgress) = (shared.metrics.take(), shared.progress != nil)
            isForDelegate = shared.consumer.isDelegate
            wasCaptured = shared.consumer.port?.wasCaptured == true
            if case .informed = shared.consumer { return nil }
            return shared.complete()
        }
        var steps: [TaskEnd] = []
        if isForDelegate, case .success(.file(let file)) = end?.result { steps.append(.downloaded(file)) }
        if let metrics, messenger.delegates.task != nil { steps.append(.metrics(metrics)) }
        guard let end else {
            steps.append(.over)
            return steps
        }
        // Whoever hears of the end finds the task's `Progress` complete.
        if hasProgress { handle.showProgress() }
        // Captured streams were the last message about the task.
        if wasCaptured { return [.over] }
        steps.append(.result(end.result, end.response))
        return steps
    }

    /// True if that called the program's code.
    private func deliver(_ step: TaskEnd, _ messenger: DelegateMessenger) -> Bool {
        switch step {
        case .downloaded(let file):
            return messenger.tell(downloadedTo: file)
        case .metrics(let metrics):
            return messenger.tell(metrics)
        case .result(let result, let response):
            deliver(result, response, messenger)
            return true
        case .over:
            handle.forget()
            return false
        }
    }

    private func deliver(
        _ result: Result<Outcome, URLError>,
        _ response: URLResponse?,
        _ messenger: DelegateMessenger
    ) {
        let consumer = handle.shared.withLock { $0.consumer }
        switch consumer {
        case .informed:
            break
        case .delegate, .downloadDelegate, .webSocket, .stream:
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
            handle.forget()
            return consumer.resume(with: result, response)
        }
        handle.forget()
    }
}
