import Foundation

/// Scheme, host and port of a URL, with the scheme's default port filled in (RFC 6454 §4).
struct Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int

    /// nil unless `url` is an http or https URL with a host.
    init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), let host = url.host(percentEncoded: true), !host.isEmpty else {
            return nil
        }
        switch scheme {
        case "http": port = url.port ?? 80
        case "https": port = url.port ?? 443
        default: return nil
        }
        self.scheme = scheme
        self.host = host.lowercased()
    }

    var isSecure: Bool { scheme == "https" }
}
