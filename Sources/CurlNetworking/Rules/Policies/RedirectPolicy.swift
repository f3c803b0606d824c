import Foundation

/// How redirects are handled (RFC 9110 §15.4, and the Fetch standard as followed by Apple's URLSession).
enum RedirectPolicy {
    enum Decision: Sendable {
        /// Deliver the response: it isn't a redirect.
        case deliver
        case follow(URLRequest)
        /// The request, which a delegate is shown, has a scheme to which no redirect may lead: fail, unless the delegate takes the response
        /// or chooses another destination.
        case refuse(URLRequest, URLError)
        case fail(URLError)
    }

    /// What to do after `head`, the response to `request`; `count` redirects have been followed.
    ///
    /// - Parameter unixSocket: The socket through which a URL is loaded; nil for TCP.
    static func decision(
        for head: ResponseHead,
        to request: URLRequest,
        count: Int,
        unixSocket: (URL) -> CurlOptions.UnixSocket?
    ) -> Decision {
        // For an FTP URL, the redirect is an HTTP proxy's.
        guard [301, 302, 303, 307, 308].contains(head.status), let location = head["Location"], !location.isEmpty,
            let base = request.url, Scheme(base)?.isFTP != true
        else { return .deliver }
        guard count < TaskBudget.redirects else {
            return .fail(.tooManyRedirects(base))
        }
        guard let target = target(of: location, from: base) else {
            return .fail(
                URLError(.redirectToNonExistentLocation, url: base, "The redirect to \"\(location)\" is no URL.")
            )
        }
        guard let from = Origin(base), let to = Origin(target) else {
            switch Scheme(target) {
            case .http, .https:
                let text = "The redirect to \"\(location)\" names no server."
                return .fail(URLError(.redirectToNonExistentLocation, url: base, text))
            case .httpUnix, .httpsUnix:
                return .fail(unsupported(target))
            case .data, .file, .ftp, .ftps, .tcp, nil:
                let shown = next(request, at: target, status: head.status, crossesOrigin: true)
                return .refuse(shown, unsupported(target))
            }
        }
        guard to.port <= UInt16.max else {
            let text = "The redirect to \"\(location)\" has no valid port."
            return .fail(URLError(.redirectToNonExistentLocation, url: base, text))
        }
        if let error = socketRefusal(of: target, from: base, unixSocket) { return .fail(error) }
        return .follow(next(request, at: target, status: head.status, crossesOrigin: from != to))
    }

    /// Whether a delegate's `answer` to a refused redirect still has a URL of the scheme to which none may lead.
    static func isRefused(_ answer: URLRequest, like refused: URLRequest) -> Bool {
        answer.url?.scheme?.lowercased() == refused.url?.scheme?.lowercased()
    }

    /// The request for a redirect to `next` that a program's own protocol class reports. Credentials copied from the previous request
    /// aren't sent to another origin; those that the class set itself are.
    static func reported(_ next: URLRequest, from request: URLRequest?, count: Int) throws(URLError) -> URLRequest {
        guard count < TaskBudget.redirects else {
            throw .tooManyRedirects(request?.url)
        }
        guard let target = next.url else {
            throw URLError(.redirectToNonExistentLocation, url: request?.url, "The redirect's request has no URL.")
        }
        guard let request, let base = request.url, !isSamePlace(base, target) else { return next }
        var next = HeaderRules.withoutDoubles(next)
        let sent = HeaderRules.withoutDoubles(request)
        for name in credentialFields where next.value(forHTTPHeaderField: name) != nil {
            guard next.value(forHTTPHeaderField: name) == sent.value(forHTTPHeaderField: name) else { continue }
            next.setValue(nil, forHTTPHeaderField: name)
        }
        return next
    }

    /// Compares URLs of any scheme; only http and https URLs have an origin.
    static func isSamePlace(_ a: URL, _ b: URL) -> Bool {
        if let one = Origin(a), let other = Origin(b) { return one == other }
        // Percent-encoded, a host is ASCII. Decoded, different ones can be equal to Swift.
        let hosts = [a, b].map { $0.host(percentEncoded: true)?.lowercased() }
        return a.scheme?.lowercased() == b.scheme?.lowercased() && hosts[0] == hosts[1] && a.port == b.port
    }

    /// Why a redirect reported by a protocol class isn't followed if no class takes its `target`: it must not lead to files or processes on
    /// this machine.
    ///
    /// - Parameter unixSocket: As for `decision`.
    static func refusal(
        of target: URL,
        from source: URL?,
        unixSocket: (URL) -> CurlOptions.UnixSocket?
    ) -> URLError? {
        guard Origin(target) != nil else { return unsupported(target) }
        return socketRefusal(of: target, from: source, unixSocket)
    }

    private static func unsupported(_ target: URL) -> URLError {
        URLError(.unsupportedURL, url: target, "A redirect may lead to http and https URLs only.")
    }

    /// Other servers must not make the program talk to processes on this machine: only a socket's own redirects may lead to it.
    private static func socketRefusal(
        of target: URL,
        from source: URL?,
        _ unixSocket: (URL) -> CurlOptions.UnixSocket?
    ) -> URLError? {
        guard let socket = unixSocket(target), socket != source.flatMap(unixSocket) else { return nil }
        return URLError(.unsupportedURL, url: target, "A redirect may not lead to a Unix socket.")
    }

    /// Resolved against the redirecting URL (RFC 3986 §5), whose fragment it inherits.
    private static func target(of location: String, from base: URL) -> URL? {
        guard let resolved = URL(reference: location, relativeTo: base) else { return nil }
        let target = UnixSocketURL.redirected(to: resolved, from: base)
        return target.fragment == nil ? target.withFragment(of: base) : target
    }

    private static func next(_ request: URLRequest, at target: URL, status: Int, crossesOrigin: Bool) -> URLRequest {
        var next = request
        next.url = crossesOrigin ? target : request.url.map(target.withUserInformation) ?? target
        let method = request.httpMethod ?? "GET"
        if (status == 303 && method != "HEAD") || ((status == 301 || status == 302) && method == "POST") {
            next.httpMethod = "GET"
            next.httpBody = nil
            next.httpBodyStream = nil
            for name in bodyFields { next.setValue(nil, forHTTPHeaderField: name) }
        }
        if crossesOrigin { removeCredentials(from: &next) }
        // It may name a URL that was loaded over TLS, and must not be told without (RFC 9110 §10.1.3).
        if request.url.flatMap(Scheme.init)?.isSecure == true, Scheme(target)?.isSecure != true {
            next.setValue(nil, forHTTPHeaderField: "Referer")
        }
        return next
    }

    /// For a request that is about to go to another origin.
    static func removeCredentials(from request: inout URLRequest) {
        for name in credentialFields { request.setValue(nil, forHTTPHeaderField: name) }
    }

    /// Fields about a body or the way it is sent, which are removed with it (RFC 9110 §10.1.1, §15.4).
    private static let bodyFields =
        [
            "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location",
            "Content-Range", "Content-Disposition", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
            "Last-Modified", "Transfer-Encoding", "Trailer", "Expect",
        ] + UploadField.ofRequests

    /// Fields that must not be sent to another origin, and Host, which would be wrong there.
    static let credentialFields = ["Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Host"]
}
