import CurlTransport
import Foundation

/// Repeats a request whose connection turned out to be dead. libcurl does so by itself until the body has begun, and later if the body can
/// be restarted. One that isn't idempotent is repeated only once here: on its own connection.
///
/// `@unchecked Sendable`: used on the loop only.
final class ReplayStep: Step, @unchecked Sendable {
    /// The connection that the next request must use.
    private var connection = ConnectionChoice.any
    /// Why an upload whose response was lost is being repeated, until its request is encoded: its error if there is no other body to send.
    private(set) var lossOfResponse: URLError?

    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        if plan.connection == .any { plan.connection = connection }
        let isSingle = connection != .any || context.part(of: plan.request).rest != nil
        plan.options?.limitSends(isSingle: isSingle)
        lossOfResponse = nil
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard ending.error != nil else { return .pass }
        let mayBeRepeated = ReplayPolicy.mayBeRepeated(request.httpMethod ?? "GET")
        let returnsToHTTP2 = noteVersion(after: ending, context)
        // A server that speaks only HTTP/2 refuses the handshake, and so has seen nothing of the request.
        if returnsToHTTP2, ConnectivityPolicy.isBeforeRequest(ending.phase), context.budget.spendReplay() {
            return .again
        }
        // All that have lost the connection would open their own, were they not to wait for one to share.
        let mayShareNext = mayBeRepeated && context.ticket.map(context.pool.sharesPriorKnowledge) == true
        let next: ConnectionChoice
        switch (ending.loss, connection) {
        case (_, .any) where returnsToHTTP2 && mayBeRepeated: next = .any
        case (.none, _), (.restOfResponse, _), (.refusedResponse, _), (_, .own), (.keptConnection, .new): return .pass
        case (.keptConnection, .any) where mayShareNext, (.everyConnection, .any) where mayShareNext: next = .requeued
        case (.keptConnection, .any): next = mayBeRepeated ? .new : .own
        case (.keptConnection, .requeued), (.everyConnection, _): next = .own
        case (.response, _):
            guard mayBeRepeated else { return .pass }
            // The request is then sent over HTTP/1.1.
            next = .own
        }
        guard context.budget.spendReplay() else { return .pass }
        connection = next
        if next == .requeued { context.stepAside() }
        if ending.loss == .response { lossOfResponse = ending.error }
        return .follow(request)
    }

    /// Notes what the ending says about uploads to the origin. Returns true if the request was kept off HTTP/2, but later ones aren't.
    private func noteVersion(after ending: TransferEnding, _ context: any StepContext) -> Bool {
        guard let ticket = context.ticket else { return false }
        if [.response, .restOfResponse].contains(ending.loss) { context.pool.noteLostResponse(of: ticket.origin) }
        guard ticket.isKeptOffHTTP2, ending.head == nil, ReplayPolicy.isSilence(ending.error) else { return false }
        context.pool.noteSilence(of: ticket.origin)
        return true
    }
}

extension TransferOptions {
    /// - Parameter isSingle: Whether the request is repeated only by the step, if at all.
    fileprivate mutating func limitSends(isSingle: Bool) {
        // A server takes a token once, so each repetition needs another.
        if connectionAuthentication == .negotiate, !authenticatesInSteps { return maximumSends = 1 }
        maximumSends = ReplayPolicy.maximumSends(method, isSingle: isSingle, takesSeveral: authenticatesInSteps)
    }
}
