import Foundation

// HTTP Strict Transport Security (RFC 6797), where the session heeds it. Everything on the loop.

extension TaskRunner {
    /// Has the current request go out over https where its host is known to want that. Before anything goes by the URL's scheme, on each hop.
    func secureRequest() throws(URLError) {
        guard let store = session.settings.transportSecurity, let url = shared.withLock({ $0.currentRequest?.url }),
            let secured = try store.secured(url)
        else { return }
        shared.withLock { $0.currentRequest?.url = secured }
    }

    /// The origin that the task's own request is for, over https where its host wants that.
    var originalOrigin: Origin? {
        guard let url = originalRequest?.url else { return nil }
        let secured = (try? session.settings.transportSecurity?.secured(url)) ?? nil
        return Origin(secured ?? url)
    }

    /// Learns from a response, of whatever status. Within libcurl.
    func noteTransportSecurity(of head: ResponseHead, to request: URLRequest) {
        guard let store = session.settings.transportSecurity, let origin = request.url.flatMap(Origin.init),
            origin.scheme == "https", isVerified(origin),
            // Of several fields the first counts, and no other (§8.1).
            let text = head.fields.first(where: { $0.name.isEqualIgnoringASCIICase(to: "Strict-Transport-Security") })?
                .value,
            let field = TransportSecurityField(text)
        else { return }
        store.note(field, from: origin.host)
    }

    /// What comes over a connection whose certificate was let pass in spite of a problem teaches nothing (§8.1).
    private func isVerified(_ origin: Origin) -> Bool {
        !session.settings.tls.trustsAnyCertificate(origin, session.settings.hosts)
            && !lane.handshakes.acceptProblems(of: origin)
    }
}
