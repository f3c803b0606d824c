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
            guard deliver(message, about: task) else { continue }
            if handle.shared.withLock({ $0.mailbox.delivered() }) { return true }
            break
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
        case .event, .question, .completed, .end:
            break
        }
        // Exists as long as a delegate is to hear of the task.
        guard let session = handle.session.session else { return false }
        let messenger = DelegateMessenger(session: session, task: task, delegates: handle.delegates)
        switch message {
        case .event(let event):
            return deliver(event, messenger)
        case .question(.disposition(let response)):
            return messenger.askDisposition(of: response) { handle.answer($0) }
        case .question(.partDisposition(let head)):
            defer { consumed(Mailbox.partCost) }
            // A part can't become a download.
            return messenger.askDisposition(of: showPart(head)) { handle.answer($0 == .becomeDownload ? .allow : $0) }
        case .question(let question):
            return messenger.ask(question)
        case .completed:
            let steps = endSteps(messenger)
            handle.shared.withLock { $0.mailbox.completes(in: steps) }
            return false
        case .end(let step):
            return deliver(step, messenger)
        case .progress, .resumeData:
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
        case .becameDownload, .isWaitingForConnectivity, .informational:
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
        let (consumer, metrics) = handle.shared.withLock { ($0.consumer, $0.metrics.take()) }
        let metricsStep = messenger.delegates.task == nil ? nil : metrics.map(TaskEnd.metrics)
        if case .informed = consumer { return [metricsStep, .over].compactMap { $0 } }
        // Whoever hears of the end finds the task's `Progress` complete.
        let (result, response) = handle.shared.withLock { $0.complete() }
        handle.showProgress()
        var download: TaskEnd?
        if consumer.isDelegate, case .success(.file(let file)) = result { download = .downloaded(file) }
        return [download, metricsStep, .result(result, response)].compactMap { $0 }
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
        case .delegate, .downloadDelegate:
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
