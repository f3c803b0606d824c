import Foundation

/// HTTP Strict Transport Security (RFC 6797), where the session heeds it. Without a state of its own.
final class TransportSecurityStep: Step {
    static let shared = TransportSecurityStep()

    /// Has the request go out over https where its host is known to want that: before anything goes by the URL's scheme, on each hop.
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

    /// Learns from a response, of whatever status.
    func receive(_ received: ReceivedHead, _ host: any StepHost) -> HeadVerdict {
        guard let store = host.session.settings.transportSecurity,
            let origin = received.request.url.flatMap(Origin.init),
            origin.scheme == .https, isVerified(origin, host),
            // Of several fields the first counts, and no other (§8.1).
            let text = received.head["Strict-Transport-Security"], let field = TransportSecurityField(text)
        else { return .pass }
        store.note(field, from: origin.host)
        return .pass
    }

    /// What comes over a connection whose certificate was let pass in spite of a problem teaches nothing (§8.1).
    private func isVerified(_ origin: Origin, _ host: any StepHost) -> Bool {
        !host.session.settings.tls.trustsAnyCertificate(origin, host.session.settings.hosts)
            && !host.pool.handshakes.acceptProblems(of: origin)
    }
}
