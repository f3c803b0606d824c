import Foundation

/// Repeats a request whose connection turned out to be dead. libcurl does so by itself until the body has begun, and later if the body can
/// be restarted. One that may not be carried out twice is repeated only once here: on a connection of its own.
///
/// `@unchecked Sendable`: used on the loop only.
final class ReplayStep: Step, @unchecked Sendable {
    /// That of the next request.
    private var connection = ConnectionChoice.any

    func encode(_ plan: TransferPlan, _ host: any StepHost) {
        if plan.connection == .any { plan.connection = connection }
        guard let options = plan.options else { return }
        options.mostSends = ReplayPolicy.mostSends(
            options.method,
            isRepetition: connection != .any,
            takesSeveral: options.authenticatesInSteps
        )
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict {
        guard ending.error != nil else { return .pass }
        if ending.loss == .answer, let origin = host.ticket?.origin { host.pool.noteLostAnswer(of: origin) }
        let mayBeRepeated = ReplayPolicy.mayBeRepeated(request.httpMethod ?? "GET")
        let next: ConnectionChoice
        switch (ending.loss, connection) {
        case (.none, _), (_, .own), (.keptConnection, .new): return .pass
        case (.keptConnection, .any): next = mayBeRepeated ? .new : .own
        case (.everyConnection, _): next = .own
        case (.answer, _):
            guard mayBeRepeated else { return .pass }
            // It goes out over HTTP/1.1 then.
            next = .own
        }
        guard host.budget.spendReplay() else { return .pass }
        connection = next
        return .follow(request)
    }
}
