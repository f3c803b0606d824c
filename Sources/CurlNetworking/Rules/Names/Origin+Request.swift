import Foundation

extension Origin {
    /// The origin that a task's `request` goes to, and the request; see `of(_:)`. That of a stream task names a host and a port.
    static func destination(
        of request: URLRequest?,
        isStream: Bool
    ) throws(URLError) -> (request: URLRequest, origin: Origin?) {
        guard let request else {
            guard !isStream else { throw URLError(.badURL, url: nil, "There is no such host, or no such port.") }
            throw URLError(.unsupportedURL, url: nil, "The task has no request.")
        }
        return (request, isStream ? ofStream(request) : try of(request))
    }

    /// The origin of the request's URL; nil for local resources, as with data and file URLs. Throws for other schemes, and if there is no
    /// host.
    static func of(_ request: URLRequest) throws(URLError) -> Origin? {
        let url = try request.requiredURL
        if let origin = Origin(url) { return origin }
        switch Scheme(url) {
        case .data, .file: return nil
        case .ftp, .ftps, .http, .https:
            guard let origin = Origin.ofFTP(url) else { throw .noHost(url) }
            return origin
        case .httpUnix, .httpsUnix:
            throw URLError(
                .badURL,
                url: url,
                "The URL's host isn't a Unix socket: it begins with %2F, or with %40 for an abstract one, has no port and at most"
                    + " \(UnixSocketURL.longestName) bytes."
            )
        case .tcp, nil: throw URLError(.unsupportedURL, url: url, "The URL's scheme is not supported.")
        }
    }
}

extension URLError {
    static func noHost(_ url: URL) -> URLError {
        URLError(.badURL, url: url, "The URL has no host, or one that is neither a name nor an address.")
    }
}

extension URLRequest {
    /// The request's URL; throws if it has none.
    var requiredURL: URL {
        get throws(URLError) {
            guard let url else { throw .missingURL }
            return url
        }
    }
}

extension URLError {
    static var missingURL: URLError { URLError(.unsupportedURL, url: nil, "The request has no URL.") }
}
