import CurlTransport
import Foundation

/// Makes a task wait until its host can be reached, instead of failing, if the session is configured so and nothing was sent.
///
/// `@unchecked Sendable`: used on the loop only.
final class ConnectivityStep: Step, ConnectivityWaiter, @unchecked Sendable {
    private enum State {
        case idle
        /// Ends with the deadline, or with a change of the network.
        case waiting(Deadline)
    }

    let waits: Bool
    private var state = State.idle
    private var backoff = RetryBackoff()
    /// Why the current request's last attempt failed; nil before that.
    private var lastFailure: URLError?
    private var hasWaited = false
    private weak var context: (any StepContext)?

    init(waits: Bool) {
        self.waits = waits
    }

    /// Why the last attempt at the current request didn't reach the host; nil if there was none before the present one, or if that one, which
    /// is in `phase`, has reached it. When nobody answers, attempts take longer than the pauses between them.
    func cause(in phase: TransferPhase) -> URLError? {
        ConnectivityPolicy.hasConnection(in: phase) ? nil : lastFailure
    }

    /// Another request begins, perhaps to another host.
    func requestBegins() {
        lastFailure = nil
    }

    /// An attempt that got as far as `phase` is over, and another follows. If it had reached the host, what failed before is past, even if
    /// the delegate is asked about the host's certificate meanwhile.
    func attemptEnds(in phase: TransferPhase) {
        if ConnectivityPolicy.hasConnection(in: phase) { lastFailure = nil }
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard let error = ending.error, ending.isOfNetwork else { return .pass }
        if waits, ConnectivityPolicy.isLackOfConnectivity(error) {
            wait(after: error, context)
            return .wait
        }
        // While a task is suspended, libcurl continues to connect, and gives up after its own time-out. That doesn't end a task whose clock
        // was stopped: it connects again when it is resumed.
        let stoodStill = ending.wasPaused || context.owner.isSuspended
        let isOfAttempt = error.code == .timedOut && ConnectivityPolicy.isBeforeRequest(error.transferPhase)
        return isOfAttempt && stoodStill && !context.owner.isCancelled ? .again : .pass
    }

    var handlesTimeOuts: Bool { true }

    private func wait(after error: URLError, _ context: any StepContext) {
        let isFirst = !hasWaited
        (hasWaited, lastFailure) = (true, error)
        context.owner.show(failureToConnect: error)
        self.context = context
        let deadline = Deadline { [unowned self] in retry() }
        state = .waiting(deadline)
        context.schedule(deadline, after: backoff.delay(jitter: .random(in: 0...1)))
        context.pool.connectivityWaiters.enter(self)
        if isFirst, context.owner.isWatched { context.owner.tell(.isWaitingForConnectivity) }
    }

    /// The host may be reachable now.
    func networkChanged() {
        backoff.reset()
        retry()
    }

    private func retry() {
        guard case .waiting = state, let context else { return }
        stop(context)
        context.proceed(self)
    }

    func stop(_ context: any StepContext) {
        guard case .waiting(let deadline) = state else { return }
        state = .idle
        context.cancel(deadline)
        context.pool.connectivityWaiters.leave(self)
    }
}

extension URLError {
    /// How far the transfer had got; nil if there was none.
    var transferPhase: TransferPhase? {
        (userInfo[CurlErrorKey.phase] as? String).flatMap(TransferPhase.init)
    }
}
