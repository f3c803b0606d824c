import Foundation

/// What cookies see of a URL (RFC 6265 §5.1, §5.4).
struct CookieTarget: Equatable, Sendable {
    /// In lower case.
    let host: String
    let path: String
    let port: Int
    let isSecure: Bool

    /// nil for what is no http or https URL with a host.
    init?(_ url: URL) {
        // A Unix socket has no domain.
        guard let origin = Origin(url), !origin.isUnixSocket else { return nil }
        host = origin.host
        port = origin.port
        isSecure = origin.isSecure
        let path = url.path(percentEncoded: true)
        self.path = path.isEmpty ? "/" : path
    }

    /// Whether cookies of `domain` are the host's (§5.1.3). No part of an IP address is its domain.
    func domainMatches(_ domain: String) -> Bool {
        host == domain || (host.hasSuffix("." + domain) && !isAddress)
    }

    /// Whether cookies of `path` are this one's (§5.1.4).
    func pathMatches(_ path: String) -> Bool {
        guard self.path.hasPrefix(path) else { return false }
        return path.utf8.last == UInt8(ascii: "/") || self.path.utf8.count == path.utf8.count
            || self.path.utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/")
    }

    /// The path of a cookie that names none (§5.1.4): up to the last slash.
    var defaultPath: String {
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Whether the host is an IP address.
    var isAddress: Bool {
        if host.contains(":") { return true }
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1
    }
}

/// Which stored cookies a request carries (RFC 6265 §5.4). The storages' own matching knows nothing of paths, Secure and
/// expiry.
enum CookieMatching {
    /// The value of the `Cookie` field for `target`; nil where no cookie matches.
    static func fieldValue(of cookies: [HTTPCookie], for target: CookieTarget, now: Date) -> String? {
        let matching = self.cookies(cookies, for: target, now: now).filter(isSendable)
        guard !matching.isEmpty else { return nil }
        return matching.map { $0.name + "=" + $0.value }.joined(separator: "; ")
    }

    /// Those for `target`, in the order of the RFC: longer paths first, then older cookies.
    static func cookies(_ cookies: [HTTPCookie], for target: CookieTarget, now: Date) -> [HTTPCookie] {
        let matching = cookies.filter { matches($0, target, now: now) }
        guard matching.count > 1 else { return matching }
        let keyed = matching.map { (cookie: $0, path: $0.path.utf8.count, created: created($0)) }
        return keyed.sorted { a, b in
            (b.path, a.created, a.cookie.name) < (a.path, b.created, b.cookie.name)
        }.map(\.cookie)
    }

    private static func matches(_ cookie: HTTPCookie, _ target: CookieTarget, now: Date) -> Bool {
        let domain = cookie.domain
        guard domain.hasPrefix(".") ? target.domainMatches(String(domain.dropFirst())) : target.host == domain,
            target.pathMatches(cookie.path), target.isSecure || !isSecure(cookie)
        else { return false }
        if let expires = cookie.expiresDate, expires <= now { return false }
        guard let ports = cookie.portList, !ports.isEmpty else { return true }
        return ports.contains { $0.intValue == target.port }
    }

    static func created(_ cookie: HTTPCookie) -> Double {
        cookie.properties?[HTTPCookiePropertyKey("Created")] as? Double ?? 0
    }

    /// Programs make cookies too, of any text: none of it may end the line, or begin another cookie.
    private static func isSendable(_ cookie: HTTPCookie) -> Bool {
        let isClean = { (byte: UInt8) in byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: ";") }
        return !cookie.name.isEmpty && cookie.name.utf8.allSatisfy { isClean($0) && $0 != UInt8(ascii: "=") }
            && cookie.value.utf8.allSatisfy(isClean)
    }

    // MARK: - Secure

    /// Stands in the comment of secure cookies, which RFC 6265 has no other use for: the stock storage loses the flag
    /// itself when it reads its file.
    static let secureComment = "Secure"

    static func isSecure(_ cookie: HTTPCookie) -> Bool {
        cookie.isSecure || cookie.comment == secureComment
    }
}
