import Foundation

// The road from a task to its delegate, handler or reader. Messages are posted on the loop and taken on the delegate
// queue; no lock is held while the user's code runs.

extension TaskRunner {
    /// Loop.
    func post(_ message: Mailbox.Message) {
        if shared.withLock({ $0.mailbox.post(message) }) { scheduleDeliveryAtEndOfRound() }
    }

    /// Called by whoever the mailbox told to, off the loop.
    func scheduleDelivery() {
        guard let delivery else { return }
        session.deliveryQueue.add([delivery])
    }

    /// Called by whoever the mailbox told to, on the loop.
    func scheduleDeliveryAtEndOfRound() {
        guard let delivery else { return }
        lane.deliverAtEndOfRound(delivery)
    }

    private var delivery: DeliveryQueue.Delivery? {
        let (task, isForHandler) = shared.withLock { ($0.task, $0.consumer.isHandler && !$0.isWatched(in: session)) }
        return task.map { DeliveryQueue.Delivery(runner: self, task: $0, isForHandler: isForHandler) }
    }

    /// Hands the outcome over, or has the delegate queue do it. Loop; once in a task's life.
    func send(_ outcome: Outcome, resumeData: Data?) {
        guard loading.cookies.writes > 0 else { return sendNow(outcome, resumeData: resumeData) }
        guard outcome.error?.code != .cancelled else {
            stopWaitingForCookieWrites()
            return sendNow(outcome, resumeData: resumeData)
        }
        afterCookieWrites { self.sendNow(outcome, resumeData: resumeData) }
    }

    private func sendNow(_ outcome: Outcome, resumeData: Data?) {
        let (consumer, isWatched, hasDelegate, handlers) = shared.withLock { shared in
            shared.outcome = outcome
            defer { shared.resumeDataHandlers = [] }
            let hasDelegate = shared.delegates.task != nil
            return (shared.consumer, shared.isWatched(in: session), hasDelegate, shared.resumeDataHandlers)
        }
        for handler in handlers { post(.resumeData(resumeData, handler)) }
        if isWatched { settleMetrics() }
        // A Swift task that brought a delegate goes on when that has heard everything; others don't wait for the queue.
        guard consumer.isAsync, !hasDelegate else { return post(.completed) }
        let (result, response) = complete()
        count { _ in }
        if isWatched {
            shared.withLock { $0.consumer = .informed }
            post(.completed)
        } else {
            forget()
        }
        lane.loop.atEndOfRound { consumer.resume(with: result, response) }
    }

    /// The task is over for the public, and the session may forget it. Returns what came out: nothing but the
    /// cancellation, where the owner has cancelled before it could see the result.
    func complete() -> (Result<Outcome, URLError>, URLResponse?) {
        shared.withLock { shared in
            let wasCancelled = shared.machine.complete()
            let outcome = shared.outcome ?? .delivered
            if wasCancelled, outcome.error == nil {
                shared.outcome = .failure(.cancelled(shared.currentRequest?.url))
                if case .file(let file) = outcome { file.removeIfStillThere() }
            }
            let result: Result<Outcome, URLError> = (shared.outcome?.error).map { .failure($0) } ?? .success(outcome)
            // The result is the owner's now.
            if shared.outcome?.error == nil { shared.outcome = .delivered }
            return (result, shared.response)
        }
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
    private func releaseDelegate() {
        let delegates = shared.withLock { shared in
            guard shared.machine.stage == .completed, shared.mailbox.isIdle else { return DelegateSet.none }
            defer { shared.delegates = .none }
            return shared.delegates
        }
        withExtendedLifetime(delegates) {}
    }

    // MARK: - On the delegate queue

    /// Delivers one message; true when there are more. What tells the program nothing takes no turn.
    func deliverNext(about scheduledTask: URLSessionTask) -> Bool {
        while true {
            let (message, task) = shared.withLock { ($0.mailbox.next(), $0.task ?? scheduledTask) }
            guard let message else { break }
            guard deliver(message, about: task, to: delegates) else { continue }
            if shared.withLock({ $0.mailbox.delivered() }) { return true }
            break
        }
        releaseDelegate()
        return false
    }

    /// True when that called the program's code.
    private func deliver(_ message: Mailbox.Message, about task: URLSessionTask, to delegates: DelegateSet) -> Bool {
        if case .progress = message {
            showProgress()
            return false
        }
        if case .resumeData(let data, let handler) = message {
            handler(data)
            return true
        }
        // There is one as long as a delegate is to hear of the task.
        guard let session = session.session else { return false }
        switch message {
        case .response(let response):
            guard let delegate = delegates.data, let dataTask = task as? URLSessionDataTask else {
                answer(.allow)
                return false
            }
            delegate.urlSession(session, dataTask: dataTask, didReceive: response) { self.answer($0) }
        case .part(let head):
            defer { if shared.withLock({ $0.mailbox.consumed(Mailbox.partCost) }) { consumerCaughtUp() } }
            guard let delegate = delegates.data, let dataTask = task as? URLSessionDataTask, let part = showPart(head)
            else {
                answer(.allow)
                return false
            }
            // A part can't become a file.
            delegate.urlSession(session, dataTask: dataTask, didReceive: part) {
                self.answer($0 == .becomeDownload ? .allow : $0)
            }
        case .redirect(let response, let request, let answer):
            guard let delegate = delegates.task else {
                answer(request)
                return false
            }
            delegate.urlSession(
                session,
                task: task,
                willPerformHTTPRedirection: response,
                newRequest: request,
                completionHandler: answer
            )
        case .challenge(let question):
            question.put(about: task, in: session, to: delegates)
        case .becameDownload(let dataTask):
            guard let download = task as? URLSessionDownloadTask, let delegate = delegates.data else { return false }
            delegate.urlSession(session, dataTask: dataTask, didBecome: download)
        case .body(let data):
            defer { if shared.withLock({ $0.mailbox.consumed(data.count) }) { consumerCaughtUp() } }
            guard let dataTask = task as? URLSessionDataTask, let delegate = delegates.data else { return false }
            delegate.urlSession(session, dataTask: dataTask, didReceive: data)
        case .sent(let sent):
            let growth = shared.withLock { $0.mailbox.reportSent(sent) }
            guard let delegate = delegates.task else { return false }
            delegate.urlSession(
                session,
                task: task,
                didSendBodyData: growth,
                totalBytesSent: sent.total,
                totalBytesExpectedToSend: sent.expected
            )
        case .resumed(let offset, let expected):
            guard let download = task as? URLSessionDownloadTask, tellsOfItsResult else { return false }
            _ = shared.withLock { $0.mailbox.reportWritten(offset) }
            guard let delegate = delegates.download else { return false }
            delegate.urlSession(
                session,
                downloadTask: download,
                didResumeAtOffset: offset,
                expectedTotalBytes: expected
            )
        case .wrote(let total):
            let (growth, expected) = shared.withLock {
                ($0.mailbox.reportWritten(total), $0.counters.expectedToReceive)
            }
            guard let download = task as? URLSessionDownloadTask, let delegate = delegates.download else {
                return false
            }
            delegate.urlSession(
                session,
                downloadTask: download,
                didWriteData: growth,
                totalBytesWritten: total,
                totalBytesExpectedToWrite: expected
            )
        case .needsBodyStream:
            guard let delegate = delegates.task else {
                bodyStreamArrived(nil)
                return false
            }
            delegate.urlSession(session, task: task) { self.bodyStreamArrived($0) }
        case .task(let message):
            return deliver(message, about: task, in: session, to: delegates)
        case .willCache(let stored):
            guard let dataTask = task as? URLSessionDataTask, let cache = self.session.settings.cache,
                let delegate = delegates.data
            else { return false }
            delegate.urlSession(session, dataTask: dataTask, willCacheResponse: stored.proposal) { answer in
                if let answer = stored.replaced(by: answer) {
                    cache.store(answer)
                } else if let url = URL(string: stored.key) {
                    cache.remove(url)
                }
            }
        case .completed:
            let steps = endSteps(of: task, to: delegates)
            shared.withLock { $0.mailbox.completes(in: steps) }
            return false
        case .progress, .resumeData:
            return false
        case .end(let step):
            return deliver(step, of: task, in: session, to: delegates)
        }
        return true
    }

    /// Whether the delegate hears of the task's response, body and file, and of its end: not where somebody else gets them.
    var tellsOfItsResult: Bool {
        if case .delegate = shared.withLock({ $0.consumer }) { true } else { false }
    }

    // MARK: - The response's disposition

    /// The delegate's answer; only the first counts. Any thread.
    private func answer(_ disposition: URLSession.ResponseDisposition) {
        guard shared.withLock({ $0.mailbox.isAwaitingAnswer }) else { return }
        switch disposition {
        case .allow: allow()
        case .cancel: if let task { cancel(task) }
        case .becomeDownload: submit { self.becomeDownload() }
        }
    }

    private func allow() {
        if shared.withLock({ $0.mailbox.answered() }) { scheduleDelivery() }
    }

    /// Turns a data task that waits for its answer into a download task: what has arrived goes into a file, and what
    /// follows goes there directly. Loop.
    private func becomeDownload() {
        guard let old = task as? URLSessionDataTask, case .stream = loading.destination,
            shared.withLock({ $0.mailbox.isAwaitingAnswer && $0.machine.cancellation == nil })
        else { return }
        do throws(URLError) {
            let file = try makeFile(of: shared.withLock { $0.mailbox.takeBody() })
            loading.destination = .file
            let isOver = shared.withLock { shared in
                shared.task = URLSessionDownloadTask(runner: self)
                shared.hasBecomeDownload = true
                _ = shared.machine.setBacklogged(false)
                // Ahead of a completion that may wait already.
                if file.length > 0 { _ = shared.mailbox.postFirst(.wrote(file.length)) }
                _ = shared.mailbox.postFirst(.becameDownload(from: old))
                return shared.machine.stage == .finished
            }
            if isOver { settle(file) } else { loading.file = file }
            allow()
            runOnLoop()
        } catch {
            shared.withLock { shared in
                if shared.outcome != nil { shared.outcome = .failure(error) }
            }
            finish(.failure(error))
            allow()
        }
    }

    private func makeFile(of pieces: [Data]) throws(URLError) -> DownloadFile {
        let file = try DownloadFile(in: session.settings.temporaryDirectory)
        do throws(URLError) {
            for piece in pieces {
                try piece.withUnsafeBytes { bytes in Result { () throws(URLError) in try file.write(bytes) } }.get()
            }
        } catch {
            file.remove()
            throw error
        }
        return file
    }

    /// The transfer was over before the answer came.
    private func settle(_ file: DownloadFile) {
        guard shared.withLock({ $0.outcome?.error }) == nil else { return file.remove() }
        let outcome: Outcome
        do throws(URLError) {
            outcome = .file(try file.finish())
        } catch {
            outcome = .failure(error)
        }
        shared.withLock { $0.outcome = outcome }
    }
}
