import CurlTransport
import Foundation

// A task's messages to its delegate, handler or reader. Posted on the loop and taken on the delegate queue; no lock is held while the
// user's code runs.

extension TaskHandle {
    /// Changes the state; `change` returns whether the caller must schedule a delivery. Loop.
    func update(_ change: (inout sending TaskState) -> sending Bool) {
        if shared.withLock(change) { scheduleAtEndOfRound() }
    }

    /// Loop.
    func post(_ message: Mailbox.Message) {
        update { $0.mailbox.post(message) }
    }

    /// Called on the loop when the mailbox requires it.
    func scheduleAtEndOfRound() {
        if let delivery { pool.deliverAtEndOfRound(delivery) }
    }

    /// Releases what was discarded, without the lock, and has what was kept delivered. Loop.
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
        update { $0.mailbox.release() }
    }

    // MARK: - The response's disposition

    func answer(_ disposition: URLSession.ResponseDisposition) {
        let (isAwaited, undecided) = shared.withLock { ($0.mailbox.isAwaitingAnswer, $0.undecided) }
        guard isAwaited else { return }
        switch disposition {
        case .allow:
            if let undecided { return submit { self.convert { TaskConversion(self).divide(undecided) } } }
            allow()
            if asksForUpgrade { submit { self.loader?.phase.switchingTransfer?.responseAllowed() } }
        case .cancel: if let task { cancel(task) }
        case .becomeDownload: submit { self.convert { TaskConversion(self).becomeDownload() } }
        case .becomeStream: submit { self.convert { TaskConversion(self).becomeStream() } }
        }
    }

    /// Whether a 101 waits for the delegate's answer. Any thread.
    private var asksForUpgrade: Bool {
        shared.withLock { shared in
            if case .delegate = shared.consumer { shared.currentRequest?.asksForUpgrade ?? false } else { false }
        }
    }

    func allow() {
        let schedules = shared.withLock { shared in
            shared.lastAnswer = .now
            return shared.mailbox.answered()
        }
        if schedules { scheduleDelivery() }
    }

    /// When the delegate last answered: `now` if it hasn't yet, nil if it wasn't asked.
    func lastAnswer(at now: MonotonicTime) -> MonotonicTime? {
        shared.withLock { $0.mailbox.owesAnswer ? now : $0.lastAnswer }
    }
}

// MARK: - The body, on the loop

extension TaskHandle: SinkOwner {
    func ask(about response: TaskResponse, dividing sink: DelegateSink?) {
        update { shared in
            shared.undecided = sink
            return shared.mailbox.post(.disposition(of: response))
        }
    }

    func count(_ bytes: Int64, isTold: Bool) {
        update { shared in
            shared.counters.received += bytes
            let schedules = shared.noteProgress()
            guard isTold, shared.tellsOfWrites else { return schedules }
            return shared.mailbox.post(.event(.wrote(shared.counters.received))) || schedules
        }
    }

    func startedOver() {
        update { shared in
            guard shared.counters.received > 0 else { return false }
            shared.counters.received = 0
            shared.counters.restarts += 1
            let schedules = shared.noteProgress()
            return shared.tellsOfWrites ? shared.mailbox.post(.event(.wrote(0))) || schedules : schedules
        }
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        update { shared in
            let expected = shared.count(bytes)
            let schedules = shared.noteProgress()
            return shared.append(bytes, expected: expected) || schedules
        }
    }

    func read(_ bytes: UnsafeRawBufferPointer, from stream: ByteStream) {
        let (schedules, delivery) = shared.withLock { shared -> (Bool, ByteStream.PendingRead?) in
            let expected = shared.count(bytes)
            let schedules = shared.noteProgress()
            let (isFull, delivery) = stream.append(bytes, expected: expected)
            if isFull { _ = shared.machine.setBacklogged(true) }
            guard shared.wantsCopy else { return (schedules, delivery) }
            return (shared.append(bytes, expected: expected) || schedules, delivery)
        }
        if schedules { scheduleAtEndOfRound() }
        if let delivery { pool.loop.atEndOfRound(delivery.run) }
    }

    var wantsCopy: Bool { shared.withLock { $0.wantsCopy } }

    func deliver(counted bytes: UnsafeRawBufferPointer) {
        update { $0.append(bytes, expected: nil) }
    }

    func beginPart(_ head: PartHead) throws(URLError) {
        let begun = shared.withLock { shared -> (schedules: Bool, isFull: Bool)? in
            let begun = shared.mailbox.beginPart(head)
            if begun?.isFull == true { _ = shared.machine.setBacklogged(true) }
            return begun
        }
        guard let begun else {
            throw URLError(
                .cannotParseResponse,
                shared.withLock { $0.currentRequest?.url },
                "The server sends parts faster than the delegate takes them."
            )
        }
        if begun.schedules { scheduleAtEndOfRound() }
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
