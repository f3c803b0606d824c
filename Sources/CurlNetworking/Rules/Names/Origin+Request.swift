import Foundation

extension Origin {
    /// The origin of the request's URL; nil for local resources, as with data and file URLs. Throws for other schemes, and if there is no
    /// host.
    static func of(_ request: URLRequest) throws(URLError) -> Origin? {
        guard let url = request.url else { throw URLError(.unsupportedURL, nil, "The request has no URL.") }
        if let origin = Origin(url) { return origin }
        switch Scheme(url) {
        case .data, .file: return nil
        case .ftp, .ftps, .http, .https:
            guard let origin = Origin.ofFTP(url) else { throw URLError(.badURL, url, "The URL has no host.") }
            return origin
        case .httpUnix, .httpsUnix:
            throw URLError(
                .badURL,
                url,
                "The URL's host is no Unix socket: it begins with %2F, or with %40 for an abstract one, has no port and at most"
                    + " \(UnixSocketURL.longestName) bytes."
            )
        case .tcp, nil: throw URLError(.unsupportedURL, url, "The URL's scheme is not supported.")
        }
    }
}
