import Foundation

/// Repeats a request whose connection turned out to be dead. libcurl does so by itself until the body has begun, and later if the body can
/// be restarted. One that isn't idempotent is repeated only once here: on its own connection.
///
/// `@unchecked Sendable`: used on the loop only.
final class ReplayStep: Step, @unchecked Sendable {
    /// The connection that the next request must use.
    private var connection = ConnectionChoice.any

    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        if plan.connection == .any { plan.connection = connection }
        guard let options = plan.options else { return }
        options.maximumSends = ReplayPolicy.maximumSends(
            options.method,
            isSingle: connection != .any || context.part(of: plan.request).rest != nil,
            takesSeveral: options.authenticatesInSteps
        )
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard ending.error != nil else { return .pass }
        if ending.loss == .answer, let origin = context.ticket?.origin { context.pool.noteLostAnswer(of: origin) }
        let mayBeRepeated = ReplayPolicy.mayBeRepeated(request.httpMethod ?? "GET")
        let next: ConnectionChoice
        switch (ending.loss, connection) {
        case (.none, _), (_, .own), (.keptConnection, .new): return .pass
        case (.keptConnection, .any): next = mayBeRepeated ? .new : .own
        case (.everyConnection, _): next = .own
        case (.answer, _):
            guard mayBeRepeated else { return .pass }
            // The request is then sent over HTTP/1.1.
            next = .own
        }
        guard context.budget.spendReplay() else { return .pass }
        connection = next
        return .follow(request)
    }
}
