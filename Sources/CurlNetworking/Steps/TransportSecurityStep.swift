import Foundation

/// HTTP Strict Transport Security (RFC 6797), if enabled for the session.
///
/// `@unchecked Sendable`: used on the loop only.
final class TransportSecurityStep: Step, @unchecked Sendable {
    /// Whether the current request can only have been sent over a connection with a verified certificate.
    private var isVerified = false

    /// Changes the request to https if its host is known to require that: on each hop, before anything depends on the URL's scheme.
    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        guard attempt == .first, let store = context.session.settings.transportSecurity, var request = context.request,
            let url = request.url
        else { return .pass }
        do throws(URLError) {
            guard let secured = try store.secured(url) else { return .pass }
            request.url = secured
            context.replaceRequest(request)
            return .pass
        } catch {
            return .fail(error)
        }
    }

    /// Judged before the request is sent: a delegate's decisions may be forgotten before the response arrives.
    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        guard let origin = plan.ticket?.origin, origin.usesTLS else { return isVerified = false }
        isVerified = context.isVerified(origin)
    }

    /// Learns from responses of any status.
    func receive(_ received: ReceivedHead, _ context: any StepContext) -> HeadVerdict {
        guard let store = context.session.settings.transportSecurity,
            let origin = received.request.url.flatMap(Origin.init),
            // They don't count over a connection whose certificate was accepted despite a problem (§8.1). Another task may have made one
            // since the request was encoded.
            origin.scheme == .https, isVerified, context.isVerified(origin),
            // Nor do they count over a connection that the session itself might not have trusted.
            received.effect != .trust,
            // Of several fields only the first counts (§8.1).
            let text = received.head["Strict-Transport-Security"], let field = TransportSecurityField(text)
        else { return .pass }
        store.note(field, from: origin.host)
        return .pass
    }
}
