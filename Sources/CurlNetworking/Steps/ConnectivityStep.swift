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
    /// Why the last attempt failed; nil before the first.
    private var lastFailure: URLError?
    private weak var host: (any StepHost)?

    init(waits: Bool) {
        self.waits = waits
    }

    /// Why the task is waiting; nil if it isn't.
    var cause: URLError? {
        if case .waiting = state { lastFailure } else { nil }
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict {
        guard let error = ending.error, ending.isOfNetwork else { return .pass }
        if waits, ConnectivityPolicy.isLackOfConnectivity(error) {
            wait(after: error, host)
            return .wait
        }
        // While a task is suspended, libcurl continues to connect, and gives up after its own time-out. That doesn't end a task whose clock
        // was stopped: it connects again when it is resumed.
        let stoodStill = ending.wasPaused || host.owner.isSuspended
        let isOfAttempt = error.code == .timedOut && ConnectivityPolicy.isBeforeRequest(error.transferPhase)
        return isOfAttempt && stoodStill && !host.owner.isCancelled ? .again : .pass
    }

    func timeOut(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict {
        end(ending, of: request, host)
    }

    private func wait(after error: URLError, _ host: any StepHost) {
        let isFirst = lastFailure == nil
        lastFailure = error
        host.owner.show(failureToConnect: error)
        self.host = host
        let deadline = Deadline { [unowned self] in retry() }
        state = .waiting(deadline)
        let loop = host.pool.loop
        loop.schedule(deadline, at: loop.now + backoff.delay(jitter: .random(in: 0...1)))
        host.pool.connectivityWaiters.enter(self)
        if isFirst, host.owner.isWatched { host.owner.tell(.isWaitingForConnectivity) }
    }

    /// The host may be reachable now.
    func networkChanged() {
        backoff.reset()
        retry()
    }

    private func retry() {
        guard case .waiting = state, let host else { return }
        stop(host)
        host.proceed(self)
    }

    func stop(_ host: any StepHost) {
        guard case .waiting(let deadline) = state else { return }
        state = .idle
        host.pool.loop.cancel(deadline)
        host.pool.connectivityWaiters.leave(self)
    }
}

extension URLError {
    /// How far the transfer had got; nil if there was none.
    var transferPhase: TransferPhase? {
        (userInfo[CurlErrorKey.phase] as? String).flatMap(TransferPhase.init)
    }
}
