import Curl
import Foundation

// What keeps a task that may run from trying yet: its begin date, or the lack of a way to its host. It waits in the stage
// `queued`, without a place at its host. Everything on the loop.

extension TaskRunner {
    /// How far the beginning is, and what the task waits for.
    struct Waiting {
        enum Beginning {
            /// It may begin, and the delegate hears nothing of it: there was no date, or it was over.
            case immediate
            /// The date is to come, or has come and the delegate has not been asked yet.
            case delayed
            /// The delegate is being asked what to do with the delayed request.
            case asking
        }

        var beginning = Beginning.immediate
        /// Ends the waiting; scheduled while it lasts.
        var end: Deadline?
        var backoff = RetryBackoff()
        /// Why the last try failed, where the task waits for a way to its host or has waited for one.
        var lastFailure: URLError?
        var isInWaitingRoom = false

        var isOver: Bool { end == nil }
    }

    /// Whether the task must not try yet; then `proceed` goes on.
    func mustWait() -> Bool {
        guard loading.waiting.isOver, loading.handshake == nil, loading.nextLane == nil else { return true }
        switch loading.waiting.beginning {
        case .immediate: return false
        case .asking: return true
        case .delayed: break
        }
        let remaining = shared.withLock { $0.earliestBeginDate }?.timeIntervalSinceNow ?? 0
        if remaining > 0 {
            wait(until: lane.loop.now + Duration(timeInterval: remaining))
        } else {
            askToBegin()
        }
        return true
    }

    private func wait(until time: MonotonicTime) {
        let end = Deadline { [unowned self] in proceed() }
        loading.waiting.end = end
        lane.loop.schedule(end, at: time)
    }

    /// The waiting is over, or was cut short.
    func stopWaiting() {
        if let end = loading.waiting.end.take() { lane.loop.cancel(end) }
        guard loading.waiting.isInWaitingRoom else { return }
        loading.waiting.isInWaitingRoom = false
        lane.waitingRoom.leave(self)
    }

    /// Goes on where the task waited. A task that was suspended meanwhile goes on when it is resumed.
    func proceed() {
        stopWaiting()
        if shared.withLock({ $0.machine.stage == .queued }) { enterQueue() }
    }

    // MARK: - The begin date

    /// How long the task's first request is put off. Called when the task is first resumed.
    func putOff() -> Duration {
        let delay = shared.withLock { $0.earliestBeginDate }?.timeIntervalSinceNow ?? 0
        guard delay > 0 else { return .zero }
        loading.waiting.beginning = .delayed
        return Duration(timeInterval: delay)
    }

    private func askToBegin() {
        let request = shared.withLock { $0.isWatched(in: session) ? $0.currentRequest : nil }
        loading.waiting.beginning = .asking
        guard let request else { return begin(.continueLoading, nil) }
        post(.task(.willBeginDelayed(request)))
    }

    /// The delegate's answer; any thread, and only the first counts.
    func delayedRequestAnswered(_ disposition: URLSession.DelayedRequestDisposition, _ request: URLRequest?) {
        submit { self.begin(disposition, request) }
    }

    private func begin(_ disposition: URLSession.DelayedRequestDisposition, _ request: URLRequest?) {
        guard case .asking = loading.waiting.beginning else { return }
        loading.waiting.beginning = .immediate
        switch disposition {
        case .continueLoading:
            break
        case .useNewRequest:
            guard let request else {
                return finish(.failure(URLError(.badURL, nil, "The delegate chose a new request, and gave none.")))
            }
            shared.withLock { $0.currentRequest = request }
        case .cancel:
            if let task { cancel(task) }
            return
        }
        proceed()
    }

    // MARK: - A way to the host

    /// Whether the task waits for a way to its host instead of failing with `error`: the session has to be configured so,
    /// and nothing may have been sent.
    func waitsForConnectivity(after error: URLError) -> Bool {
        guard session.settings.waitsForConnectivity,
            ConnectivityPolicy.isLackOfConnectivity(error.code, in: error.transferPhase)
        else { return false }
        let isFirst = loading.waiting.lastFailure == nil
        loading.waiting.lastFailure = error
        forgetAttempt()
        wait(until: lane.loop.now + loading.waiting.backoff.delay(jitter: .random(in: 0...1)))
        lane.waitingRoom.enter(self)
        loading.waiting.isInWaitingRoom = true
        if isFirst, shared.withLock({ $0.isWatched(in: session) }) { post(.task(.isWaitingForConnectivity)) }
        rearmDeadline()
        runOnLoop()
        return true
    }

    /// libcurl goes on connecting for a suspended task, and gives it up in its own time. That is no end of a task whose clock
    /// stood still: it connects again, when it is resumed.
    func connectsAgain(after exchange: Exchange, _ error: URLError) -> Bool {
        guard error.code == .timedOut, ConnectivityPolicy.isLackOfConnectivity(error.code, in: error.transferPhase),
            shared.withLock({ $0.machine.cancellation == nil && (exchange.wasPaused || $0.machine.isSuspended) })
        else { return false }
        forgetAttempt()
        rearmDeadline()
        runOnLoop()
        return true
    }

    /// An attempt to connect has come to nothing; the task can make another.
    func forgetAttempt() {
        // It was no transaction: nothing has been sent.
        if let attempt = loading.hops.last, attempt.statistics?.requestStarted == nil { loading.hops.removeLast() }
        // A stream that was opened can't be sent again.
        if sendsStream { loading.preparation = .none }
        loading.ticket?.hasFailed = true
        if let ticket = loading.ticket.take() { lane.leave(ticket) }
        shared.withLock { $0.machine.requeue() }
    }

    /// There may be a way now.
    func networkChanged() {
        guard loading.waiting.isInWaitingRoom else { return }
        loading.waiting.backoff.reset()
        proceed()
    }

    /// The same for what is no exchange.
    func waitsForConnectivity(afterLoading error: URLError) -> Bool {
        guard waitsForConnectivity(after: error) else { return false }
        loading.load = nil
        loading.hopWithoutExchange = nil
        return true
    }

    /// The idle clock has run out on an exchange that has no connection yet: for a task that waits, that is no end.
    func waitsForConnectivity(afterTimingOut exchange: Exchange, _ error: URLError) -> Bool {
        let error = error.with(phase: exchange.phase)
        guard session.settings.waitsForConnectivity,
            ConnectivityPolicy.isLackOfConnectivity(error.code, in: exchange.phase)
        else { return false }
        exchange.cancel()
        keepMetrics(of: exchange)
        loading.exchange = nil
        return waitsForConnectivity(after: error)
    }
}

extension URLError {
    /// How far the transfer had come; nil where there was none.
    fileprivate var transferPhase: TransferPhase? {
        (userInfo[CurlErrorKey.phase] as? String).flatMap(TransferPhase.init)
    }
}
