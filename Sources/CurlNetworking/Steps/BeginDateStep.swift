import CurlTransport
import Foundation

/// Delays a task until its begin date, and then asks the delegate what to do with the delayed request.
///
/// `@unchecked Sendable`: used on the loop only.
final class BeginDateStep: Step, @unchecked Sendable {
    private enum State {
        /// The date may lie in the future: `look` fires then, or before.
        case delayed(look: Deadline?)
        /// The delegate has been asked.
        case asking
        case begun
        case failed(URLError)
    }

    /// Whether there is a request that the delegate could be asked about.
    private let asks: Bool
    private var state = State.delayed(look: nil)
    /// The request that the delegate has put in the place of the task's own.
    private(set) var replacement: URLRequest?

    init(asks: Bool = true) {
        self.asks = asks
    }

    func prepare(_ attempt: RequestAttempt, _ host: any StepHost) -> RequestVerdict {
        switch state {
        case .begun: return .pass
        case .failed(let error): return .fail(error)
        case .asking: return .wait
        case .delayed: break
        }
        let remaining = host.owner.earliestBeginDate?.timeIntervalSinceNow ?? 0
        guard remaining > 0 else { return ask(host) }
        let loop = host.pool.loop
        do throws(TransferFailure) {
            try loop.makeReady()
        } catch {
            return .fail(URLError(error, url: host.request?.url))
        }
        let look = Deadline { [unowned self, weak host] in host?.proceed(self) }
        state = .delayed(look: look)
        loop.schedule(look, at: loop.now + Self.nextLook(remaining))
        return .wait
    }

    /// When to look at the clock again, with `remaining` seconds to go. Loops don't notice that the system's clock is set, which would otherwise
    /// make the task late.
    static func nextLook(_ remaining: TimeInterval) -> Duration {
        Duration(timeInterval: min(remaining, 60))
    }

    /// Whether the date has yet to come, or be looked at.
    var isDelayed: Bool { if case .delayed = state { true } else { false } }

    /// The date has come.
    private func ask(_ host: any StepHost) -> RequestVerdict {
        defer { host.rearmClocks() }
        guard asks, host.owner.isWatched, let request = host.request else {
            state = .begun
            return .pass
        }
        state = .asking
        host.owner.ask(
            .delayedRequest(request) { [weak self, weak host] disposition, request in
                guard let self, let host else { return }
                host.owner.submit { self.answered(disposition, request, host) }
            }
        )
        return .wait
    }

    /// Only the first answer counts.
    private func answered(
        _ disposition: URLSession.DelayedRequestDisposition,
        _ request: URLRequest?,
        _ host: any StepHost
    ) {
        guard case .asking = state else { return }
        state = .begun
        switch disposition {
        case .continueLoading: break
        case .cancel: return host.owner.cancel()
        case .useNewRequest:
            replacement = request
            if let request {
                host.replaceRequest(request)
            } else {
                state = .failed(URLError(.badURL, nil, "The delegate chose a new request, and gave none."))
            }
        }
        host.proceed(self)
    }

    func stop(_ host: any StepHost) {
        if case .delayed(let look?) = state { host.pool.loop.cancel(look) }
    }
}
