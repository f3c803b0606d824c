import Foundation

/// The parts of a URL that cookies are matched with (RFC 6265 §5.1, §5.4).
struct CookieTarget: Equatable, Sendable {
    /// In lower case.
    let host: String
    let path: String
    let port: Int
    let isSecure: Bool

    /// nil unless `url` is an http or https URL with a host.
    init?(_ url: URL) {
        // A Unix socket has no domain.
        guard let origin = Origin(url), !origin.isUnixSocket else { return nil }
        host = origin.host
        port = origin.port
        isSecure = origin.isSecure
        let path = url.path(percentEncoded: true)
        self.path = path.isEmpty ? "/" : path
    }

    /// Whether cookies of `domain` are for the host (§5.1.3).
    func domainMatches(_ domain: String) -> Bool {
        CookieMatching.domain(host, matches: domain)
    }

    /// Whether cookies of `path` are for this path (§5.1.4).
    func pathMatches(_ path: String) -> Bool {
        CookieMatching.path(self.path, matches: path)
    }

    /// The path of a cookie without one (§5.1.4): up to the last slash, and no longer than an attribute may be. Otherwise each cookie from
    /// a long URL would take as much memory as the URL.
    var defaultPath: String {
        let beginning = path.utf8.prefix(SetCookieParser.maximumAttributeSize + 1)
        guard path.hasPrefix("/"), let slash = beginning.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex
        else {
            return "/"
        }
        return String(path[..<slash])
    }

    /// Whether the host is an IP address.
    var isAddress: Bool { CookieMatching.isAddress(host) }
}

/// How domains and paths are compared (RFC 6265 §5.1).
enum CookieMatching {
    /// Whether `host` is `domain` or below it (§5.1.3). IP addresses have no domains.
    static func domain(_ host: String, matches domain: String) -> Bool {
        host == domain || (host.hasSuffix("." + domain) && !isAddress(host))
    }

    /// Whether `path` is `cookiePath` or below it (§5.1.4), by bytes: to Swift, the Kelvin sign is the letter K.
    static func path(_ path: String, matches cookiePath: String) -> Bool {
        guard path.utf8.starts(with: cookiePath.utf8) else { return false }
        let length = cookiePath.utf8.count
        return cookiePath.utf8.last == UInt8(ascii: "/") || path.utf8.count == length
            || path.utf8.dropFirst(length).first == UInt8(ascii: "/")
    }

    static func isAddress(_ host: String) -> Bool {
        host.contains(":") || IPAddress.isIPv4(host)
    }
}
