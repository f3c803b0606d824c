import CurlTransport
import Foundation

// Stream tasks: those that were made as such, and those that a data task has become. On the loop, but for what says otherwise.

extension TaskHandle: StreamOwner {
    var loop: EventLoop { pool.loop }

    var shownURL: URL? { shared.withLock { $0.currentRequest?.url } }

    func reply(_ handler: @escaping @Sendable () -> Void) {
        enum Way {
            case scheduled
            case schedule(DeliveryQueue.Delivery)
            /// The task was never resumed, or is over.
            case directly
        }
        let way: Way = shared.withLock { shared in
            guard let task = shared.task else { return .directly }
            guard shared.mailbox.post(.call(handler)) else { return .scheduled }
            return .schedule(DeliveryQueue.Delivery(recipient: self, task: task, isForHandler: false))
        }
        switch way {
        case .scheduled: break
        case .schedule(let delivery): pool.deliverAtEndOfRound(delivery)
        case .directly: session.deliveryQueue.addOperation(handler)
        }
    }

    /// Notes what is to be done with a stream task. Any thread.
    func add(_ wish: StreamPort.Wish) {
        shared.withLock { $0.consumer.port }?.add(wish, for: self)
    }
}

// MARK: - A data task that becomes a stream task

extension TaskHandle: ResponseStreamOwner {
    /// The response waits for its answer: what has arrived, and what follows, goes to those who read.
    func becomeStream() {
        // The end is certain, and waits for cookies to be stored.
        if shared.withLock({ $0.machine.stage == .finished && $0.outcome == nil }) {
            return whenShown { [weak self] in self?.becomeStream() }
        }
        if let transfer = loader?.phase.transfer, transfer.isSwitched { return becomeStream(over: transfer) }
        let port = StreamPort(writes: false)
        port.owner = self
        let become = shared.withLock { shared -> (stream: ResponseStream, error: URLError?)? in
            guard let old = shared.taskThatMayBecomeStream else { return nil }
            let isComplete = shared.machine.stage == .finished
            let stream = ResponseStream(port, self, pieces: shared.mailbox.takeBody(), isComplete: isComplete)
            shared.becomeStream(port, self, insteadOf: old)
            shared.isBeingRead = true
            _ = shared.machine.setBacklogged(stream.isBehind)
            return (stream, shared.outcome?.error)
        }
        guard let become else { return }
        loader?.sink = become.stream
        become.stream.open()
        if let error = become.error { endReading(.task(error)) }
        allow()
        loader?.run()
    }

    /// The server has switched protocols: what follows goes both ways.
    private func becomeStream(over transfer: any Transfer) {
        let port = StreamPort()
        port.owner = self
        let mayBecome = shared.withLock { shared in
            guard let old = shared.taskThatMayBecomeStream else { return false }
            shared.becomeStream(port, self, insteadOf: old)
            return true
        }
        guard mayBecome else { return }
        loader?.sink = StreamSink(port)
        allow()
        transfer.becomeStream(port)
        loader?.run()
    }

    func setBehind(_ isBehind: Bool) {
        guard shared.withLock({ $0.machine.setBacklogged(isBehind) }), !isBehind else { return }
        submit { self.loader?.run() }
    }

    func streamEnded() {
        let isOver = shared.withLock { shared in
            shared.isBeingRead = false
            return shared.outcome != nil
        }
        if isOver { post(.completed) } else { loader?.finish(.delivered) }
    }

    func streamFailed(_ error: URLError) {
        if let loader { return loader.fail(error) }
        shared.withLock { if $0.isBeingRead { $0.outcome = .failure(error) } }
        endReading(.task(error))
    }

    /// Nobody reads any more: the task completes, if its response has come to its end.
    func endReading(_ failure: StreamFailure) {
        let (wasRead, isOver, port) = shared.withLock { shared in
            defer { shared.isBeingRead = false }
            return (shared.isBeingRead, shared.outcome != nil, shared.consumer.port)
        }
        guard wasRead else { return }
        port?.fail(failure)
        if isOver { post(.completed) }
    }
}

extension TaskState {
    /// nil where it is too late, or the response isn't a delegate's to decide on.
    fileprivate var taskThatMayBecomeStream: URLSessionDataTask? {
        guard case .delegate = consumer, mailbox.isAwaitingAnswer, machine.cancellation == nil, !hasBecomeAnother else {
            return nil
        }
        return task as? URLSessionDataTask
    }

    fileprivate mutating func becomeStream(_ port: StreamPort, _ engine: TaskHandle, insteadOf old: URLSessionDataTask)
    {
        task = URLSessionStreamTask(engine: engine)
        hasBecomeAnother = true
        consumer = .stream(port)
        // It comes when all of the body has been read.
        mailbox.takeCompletion()
        _ = mailbox.postFirst(.event(.becameStream(from: old)))
    }
}
