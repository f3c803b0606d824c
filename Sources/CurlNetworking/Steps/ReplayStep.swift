import Foundation

/// Sends a request once more whose connection turned out to be dead. libcurl does the same by itself until the body has begun, and later
/// where that can be started over.
final class ReplayStep: Step, @unchecked Sendable {
    private enum Connection {
        /// Whichever there is.
        case any
        /// A kept one was dead after the body had begun: the next request makes its own.
        case new
        /// Shared ones had no room for it, time and again: the next request has one to itself.
        case own
    }

    private var connection = Connection.any

    func encode(_ plan: inout TransferPlan, _ host: any StepHost) {
        plan.avoidsKeptConnections = connection != .any
        plan.needsOwnConnection = connection == .own
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict {
        guard ending.error != nil else { return .pass }
        switch (ending.loss, connection) {
        case (.keptConnection, .any) where host.budget.spendReplay(): connection = .new
        case (.everyConnection, .any) where host.budget.spendReplay(),
            (.everyConnection, .new) where host.budget.spendReplay():
            connection = .own
        case (.none, _), (.keptConnection, _), (.everyConnection, _): return .pass
        }
        return .follow(request)
    }
}
