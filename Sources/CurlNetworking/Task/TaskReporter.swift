import Foundation

/// Delivers a task's messages to its delegate, handler or reader. Delegate queue; no lock is held while the program's code runs.
struct TaskReporter<Engine: StatefulTaskEngine> {
    private let engine: Engine
    /// The task to pass in messages that are delivered after the engine has released its public object.
    private let scheduledTask: URLSessionTask

    init(_ engine: Engine, scheduledFor task: URLSessionTask) {
        self.engine = engine
        scheduledTask = task
    }

    /// Delivers one message; true if there are more. Messages that call no program code don't take a turn of their own.
    func deliverNext() -> Bool {
        while true {
            let (message, task, delegates) = engine.withState { state in
                (state.mailbox.next(), state.task ?? scheduledTask, state.delegates)
            }
            guard let message else { break }
            if deliver(message, about: task, delegates) { return delivered() }
        }
        releaseDelegate()
        return false
    }

    /// Called after each delivery. True if there are more messages; otherwise does what `releaseDelegate()` does.
    private func delivered() -> Bool {
        let (hasMore, delegates) = engine.withState { state in
            state.mailbox.delivered() ? (true, DelegateSet.none) : (false, state.takeDelegatesIfDone())
        }
        withExtendedLifetime(delegates) {}
        return hasMore
    }

    /// Releases the task's own delegate once it has received all messages.
    private func releaseDelegate() {
        let delegates = engine.withState { $0.takeDelegatesIfDone() }
        withExtendedLifetime(delegates) {}
    }

    /// True if this called the program's code.
    private func deliver(_ message: Mailbox.Message, about task: URLSessionTask, _ own: DelegateSet) -> Bool {
        /// False if no delegate receives messages about the task any more.
        func tell(_ deliver: (DelegateMessenger) -> Bool) -> Bool {
            guard let sender = engine.session.sender else { return false }
            let delegates = own.over(sender.delegates)
            return deliver(DelegateMessenger(session: sender.session, task: task, delegates: delegates))
        }
        switch message {
        case .progress:
            engine.showProgress()
            return false
        case .resumeData(let data, let handler):
            handler(data)
            return true
        case .call(_, let body):
            body()
            return true
        case .event(let event):
            return tell { deliver(event, $0) }
        case .disposition(let response):
            return tell { $0.askDisposition(of: response) { engine.answer($0) } }
        case .partDisposition(let head):
            return tell { messenger in
                defer { consumed(head.cost) }
                // A part can't become a file or a stream.
                return messenger.askDisposition(of: showPart(head)) { engine.answer($0 == .cancel ? .cancel : .allow) }
            }
        case .question(let question):
            return tell { $0.ask(question) }
        case .completed:
            return tell { end($0) }
        case .end(let step):
            return tell { deliver(step, $0) }
        }
    }

    private func deliver(_ event: TaskEvent, _ messenger: DelegateMessenger) -> Bool {
        switch event {
        case .body(let data):
            defer { consumed(data.count) }
            return messenger.tell(received: data)
        case .sent(let sent):
            return messenger.tell(sent: sent, growth: engine.withState { $0.reported.report(sent) })
        case .wrote(let total):
            let (growth, expected) = engine.withState {
                ($0.reported.report(written: total), $0.counters.expectedToReceive)
            }
            return messenger.tell(written: total, growth: growth, expected: expected)
        case .resumed(let offset, let expected):
            _ = engine.withState { $0.reported.report(written: offset) }
            return engine.tellsDelegateOfResult && messenger.tell(resumedAt: offset, expected: expected)
        case .becameDownload(let dataTask):
            return messenger.tell(becameDownload: dataTask)
        case .becameStream(let dataTask):
            return messenger.tell(becameStream: dataTask)
        case .readClosed:
            return messenger.tellReadClosed()
        case .writeClosed:
            return messenger.tellWriteClosed()
        case .captured(let streams):
            return messenger.tell(captured: streams)
        case .isWaitingForConnectivity:
            return messenger.tellWaitingForConnectivity()
        case .informational(let head, let request):
            return messenger.tell(informational: head, to: request)
        case .openedWebSocket(let subprotocol):
            return messenger.tell(openedWebSocket: subprotocol)
        case .closedWebSocket(let code, let reason):
            return messenger.tell(closedWebSocket: code, reason: reason)
        }
    }

    private func consumed(_ count: Int) {
        if engine.withState({ $0.mailbox.consumed(count) }) { engine.consumerCaughtUp() }
    }

    /// Creates the response of a new part, and shows it as the task's.
    private func showPart(_ head: PartHead) -> TaskResponse? {
        guard let url = engine.withState({ $0.currentRequest?.url }) else { return nil }
        let part = TaskResponse(head.merged, at: url)
        engine.withState { $0.response = part }
        return part
    }

    // MARK: - The end

    /// Delivers the first message of the end, and puts the others into the mailbox. True if this called the program's code.
    private func end(_ messenger: DelegateMessenger) -> Bool {
        engine.prepareEnd()
        let (first, hasProgress) = engine.withState { state in
            let steps = state.end(tellsMetrics: messenger.delegates.task != nil)
            state.mailbox.goesOn(with: steps.dropFirst())
            return (steps.first, state.progress != nil)
        }
        // The recipient of the end finds the task's `Progress` complete.
        if hasProgress { engine.showProgress() }
        return first.map { deliver($0, messenger) } ?? false
    }

    /// True if this called the program's code.
    private func deliver(_ step: TaskEnd, _ messenger: DelegateMessenger) -> Bool {
        switch step {
        case .unwanted(let file):
            file.removeIfStillThere()
            return false
        case .downloaded(let file):
            return messenger.tell(downloadedTo: file)
        case .metrics(let metrics):
            return messenger.tell(metrics)
        case .result(let result, let response):
            deliver(result, response, messenger)
            return true
        case .over:
            engine.forget()
            return false
        }
    }

    private func deliver(
        _ result: Outcome,
        _ response: TaskResponse?,
        _ messenger: DelegateMessenger
    ) {
        let consumer = engine.withState { $0.takeConsumer() }
        switch consumer {
        case .informed:
            break
        case .delegate, .downloadDelegate, .webSocket, .stream:
            messenger.tellCompletion(with: result.error?.shown)
        case .dataHandler(let handler):
            if case .data(let data) = result {
                handler(data, response?.object, nil)
            } else {
                handler(nil, response?.object, result.error?.shown)
            }
        case .fileHandler(let handler):
            if case .file(let file) = result {
                handler(file.url, response?.object, nil)
                file.removeIfStillThere()
            } else {
                handler(nil, response?.object, result.error?.shown)
            }
        case .data, .file, .bytes:
            engine.forget()
            return consumer.resume(with: result, response)
        }
        engine.forget()
    }
}
