import CurlTransport
import Foundation

// A task's messages to its delegate, handler or reader. Posted on the loop and taken on the delegate queue; no lock is held while the
// program's code runs.

extension TaskHandle {
    /// As `update`, with the delivery at the end of the loop's round. Loop.
    func updateOnLoop(_ change: (inout sending TaskState) -> Void) {
        if changesDelivery(change) { scheduleAtEndOfRound() }
    }

    /// Loop.
    func post(_ message: Mailbox.Message) {
        updateOnLoop { $0.mailbox.post(message) }
    }

    /// Called on the loop when the mailbox requires it.
    func scheduleAtEndOfRound() {
        if let delivery { pool.deliverAtEndOfRound(delivery) }
    }

    /// Releases discarded messages outside the lock, and schedules the delivery of those kept. Loop.
    func drop(_ discarded: Mailbox.Discarded) {
        if discarded.schedules { scheduleAtEndOfRound() }
        withExtendedLifetime(discarded) {}
    }

    func ask(_ question: TaskQuestion) {
        post(.question(question))
    }

    func tell(_ event: TaskEvent) {
        post(.event(event))
    }

    func show(failureToConnect error: URLError) {
        shared.withLock { $0.failureToConnect = error }
    }

    func holdDelivery() {
        shared.withLock { $0.mailbox.hold() }
    }

    func releaseDelivery() {
        updateOnLoop { $0.mailbox.release() }
    }

    // MARK: - The response's disposition

    func answer(_ disposition: URLSession.ResponseDisposition) {
        let (isAwaited, divider) = shared.withLock { shared in
            let divider: DelegateSink? = if case .divisible(let sink) = shared.conversion { sink } else { nil }
            return (shared.mailbox.isAwaitingAnswer, divider)
        }
        guard isAwaited else { return }
        switch disposition {
        case .allow:
            if let divider { return submit { self.convert { TaskConversion(self).divide(divider) } } }
            allow()
            if asksForUpgrade { submit { self.loader?.phase.upgrade?.responseAllowed() } }
        case .cancel: if let task { cancel(task) }
        case .becomeDownload: submit { self.convert { TaskConversion(self).convertToDownload() } }
        case .becomeStream: submit { self.convert { TaskConversion(self).convertToStream() } }
        }
    }

    /// Whether a 101 response waits for the delegate's answer. Any thread.
    private var asksForUpgrade: Bool {
        shared.withLock { shared in
            if case .delegate = shared.consumer { shared.currentRequest?.asksForUpgrade ?? false } else { false }
        }
    }

    func allow() {
        update { shared in
            shared.lastAnswer = .now
            shared.mailbox.answered()
        }
    }

    /// The time of the delegate's last answer: `now` if one is pending, nil if it wasn't asked.
    func lastAnswer(at now: MonotonicTime) -> MonotonicTime? {
        shared.withLock { $0.mailbox.owesAnswer ? now : $0.lastAnswer }
    }
}

// MARK: - The body, on the loop

extension TaskHandle: SinkOwner {
    func ask(about response: TaskResponse, dividing sink: DelegateSink?) {
        updateOnLoop { shared in
            shared.conversion = sink.map { .divisible($0) } ?? .none
            shared.mailbox.post(.disposition(of: response))
        }
    }

    func count(_ bytes: Int64, isTold: Bool) {
        updateOnLoop { shared in
            shared.counters.received += bytes
            shared.noteProgress()
            if isTold, shared.tellsOfWrites { shared.mailbox.post(.event(.wrote(shared.counters.received))) }
        }
    }

    func startedOver() {
        updateOnLoop { shared in
            guard shared.counters.received > 0 else { return }
            shared.counters.received = 0
            shared.counters.restarts += 1
            shared.noteProgress()
            if shared.tellsOfWrites { shared.mailbox.post(.event(.wrote(0))) }
        }
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        updateOnLoop { shared in
            let expected = shared.count(bytes)
            shared.noteProgress()
            shared.append(bytes, expected: expected)
        }
    }

    func read(_ bytes: UnsafeRawBufferPointer, from stream: ByteStream) {
        var delivery: ByteStream.PendingRead?
        updateOnLoop { shared in
            let expected = shared.count(bytes)
            shared.noteProgress()
            let isFull: Bool
            (isFull, delivery) = stream.append(bytes, expected: expected)
            if isFull { shared.machine.setBacklogged(true) }
            if shared.wantsCopy { shared.append(bytes, expected: expected) }
        }
        if let delivery { pool.loop.atEndOfRound(delivery.run) }
    }

    var wantsCopy: Bool { shared.withLock { $0.wantsCopy } }

    func deliver(counted bytes: UnsafeRawBufferPointer) {
        updateOnLoop { $0.append(bytes, expected: nil) }
    }

    func beginPart(_ head: PartHead) throws(URLError) {
        var hasRoom = true
        updateOnLoop { shared in
            switch shared.mailbox.beginPart(head) {
            case true?: shared.machine.setBacklogged(true)
            case false?: break
            case nil: hasRoom = false
            }
        }
        guard hasRoom else {
            throw URLError(
                .cannotParseResponse,
                url: shared.withLock { $0.currentRequest?.url },
                "The server sends parts faster than the delegate takes them."
            )
        }
    }

    func setBehind(_ isBehind: Bool) {
        guard shared.withLock({ $0.machine.setBacklogged(isBehind) }), !isBehind else { return }
        submit { self.loader?.run() }
    }

    func sinkFailed(_ error: URLError) {
        loader?.fail(error.forRequest(to: loader?.request?.url))
    }

    func whenShown(_ action: @escaping () -> Void) {
        guard let cookies = loader?.steps.cookies else { return action() }
        cookies.afterWrites(action)
    }
}
