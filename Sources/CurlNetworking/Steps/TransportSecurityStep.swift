import Foundation

/// HTTP Strict Transport Security (RFC 6797), if enabled for the session. Stateless.
final class TransportSecurityStep: Step {
    static let shared = TransportSecurityStep()

    /// Changes the request to https if its host is known to require that: on each hop, before anything depends on the URL's scheme.
    func prepare(_ attempt: RequestAttempt, _ host: any StepHost) -> RequestVerdict {
        guard attempt == .first, let store = host.session.settings.transportSecurity, var request = host.request,
            let url = request.url
        else { return .pass }
        do throws(URLError) {
            guard let secured = try store.secured(url) else { return .pass }
            request.url = secured
            host.replaceRequest(request)
            return .pass
        } catch {
            return .fail(error)
        }
    }

    /// Learns from responses of any status.
    func receive(_ received: ReceivedHead, _ host: any StepHost) -> HeadVerdict {
        guard let store = host.session.settings.transportSecurity,
            let origin = received.request.url.flatMap(Origin.init),
            // Over a connection whose certificate was accepted in spite of a problem they don't count (§8.1).
            origin.scheme == .https, host.isVerified(origin),
            // Of several fields only the first counts (§8.1).
            let text = received.head["Strict-Transport-Security"], let field = TransportSecurityField(text)
        else { return .pass }
        store.note(field, from: origin.host)
        return .pass
    }
}
