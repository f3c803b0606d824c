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
    /// The system's clock.
    private let now: () -> Date
    private var state = State.delayed(look: nil)
    /// The request with which the delegate replaced the task's own.
    private(set) var replacement: URLRequest?

    init(asks: Bool = true, now: @escaping () -> Date = Date.init) {
        self.asks = asks
        self.now = now
    }

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        switch state {
        case .begun: return .pass
        case .failed(let error): return .fail(error)
        case .asking: return .wait
        case .delayed: break
        }
        guard let wait = BeginDatePolicy.wait(for: context.owner.earliestBeginDate, at: now()) else {
            return ask(context)
        }
        do throws(TransferFailure) {
            try context.pool.loop.makeReady()
        } catch {
            return .fail(URLError(error, url: context.request?.url))
        }
        let look = Deadline { [unowned self, weak context] in context?.proceed(self) }
        state = .delayed(look: look)
        context.schedule(look, after: wait)
        return .wait
    }

    /// Whether the date has yet to come, or to be checked.
    var isDelayed: Bool { if case .delayed = state { true } else { false } }

    /// The date has come.
    private func ask(_ context: any StepContext) -> RequestVerdict {
        defer { context.rearmClocks() }
        guard asks, context.owner.isWatched, let request = context.request else {
            state = .begun
            return .pass
        }
        state = .asking
        context.owner.ask(
            .delayedRequest(request) { [weak self, weak context] disposition, request in
                guard let self, let context else { return }
                context.owner.submit { self.answered(disposition, request, context) }
            }
        )
        return .wait
    }

    /// Only the first answer counts.
    private func answered(
        _ disposition: URLSession.DelayedRequestDisposition,
        _ request: URLRequest?,
        _ context: any StepContext
    ) {
        guard case .asking = state else { return }
        state = .begun
        switch disposition {
        case .continueLoading: break
        case .cancel: return context.owner.cancel()
        case .useNewRequest:
            replacement = request
            if let request {
                context.replaceRequest(request)
            } else {
                state = .failed(URLError(.badURL, url: nil, "The delegate chose a new request, and gave none."))
            }
        }
        context.proceed(self)
    }

    func stop(_ context: any StepContext) {
        if case .delayed(let look?) = state { context.cancel(look) }
    }
}
