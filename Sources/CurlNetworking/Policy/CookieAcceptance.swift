import Foundation

/// Which cookies of a response are stored, and as what (RFC 6265 §5.3).
struct CookieAcceptance {
    let policy: HTTPCookie.AcceptPolicy
    let isPublicSuffix: (String) -> Bool

    /// The cookies of `fields`, the values of the `Set-Cookie` fields in a response from `url`.
    func cookies(from fields: [String], at url: URL, mainDocument: URL?, now: Date) -> [HTTPCookie] {
        guard let target = CookieTarget(url), accepts(target, mainDocument: mainDocument) else { return [] }
        return fields.compactMap { field in
            SetCookieParser.parse(field, now: now).flatMap { properties(of: $0, from: target) }
                .flatMap(HTTPCookie.init)
        }
    }

    /// `.onlyFromMainDocumentDomain` asks for the main document's host or a parent of it; a request without a main document
    /// is its own.
    private func accepts(_ target: CookieTarget, mainDocument: URL?) -> Bool {
        switch policy {
        case .always: return true
        case .never: return false
        case .onlyFromMainDocumentDomain:
            guard let mainDocument else { return true }
            return CookieTarget(mainDocument)?.domainMatches(target.host) ?? false
        @unknown default: return false
        }
    }

    private func properties(of cookie: ParsedCookie, from target: CookieTarget) -> [HTTPCookiePropertyKey: Any]? {
        guard let domain = domain(of: cookie, from: target), keepsPromise(of: cookie, domain: domain, from: target)
        else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name,
            .value: cookie.value,
            .domain: domain,
            .path: cookie.path ?? target.defaultPath,
        ]
        // As a date: the stock cookie heeds Max-Age only beside "Version=1".
        if let expires = cookie.expires { properties[.expires] = expires }
        if cookie.isSecure {
            properties[.secure] = "TRUE"
            properties[.comment] = CookieMatching.secureComment
        }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        return properties
    }

    /// With a leading dot where the cookie is for the domain's hosts, without it for the host alone; nil where the domain is
    /// not the host's to speak for.
    private func domain(of cookie: ParsedCookie, from target: CookieTarget) -> String? {
        guard let domain = cookie.domain else { return target.host }
        if target.isAddress || isPublicSuffix(domain) { return domain == target.host ? domain : nil }
        return target.domainMatches(domain) ? "." + domain : nil
    }

    // MARK: - Limits

    /// No server may fill the storage (§6.1); browsers keep as many.
    private static let maximumPerDomain = 180

    /// The oldest cookies of `domain`, as far as there are too many.
    static func excess(of cookies: [HTTPCookie], domain: String) -> [HTTPCookie] {
        let own = cookies.filter { $0.domain == domain }
        guard own.count > maximumPerDomain else { return [] }
        return own.sorted { CookieMatching.created($0) < CookieMatching.created($1) }.dropLast(maximumPerDomain)
    }

    // MARK: - Names

    /// Cookies whose names say how they were set must have been (RFC 6265bis §4.1.3).
    private func keepsPromise(of cookie: ParsedCookie, domain: String, from target: CookieTarget) -> Bool {
        let name = cookie.name.lowercased()
        if name.hasPrefix("__secure-") { return cookie.isSecure && target.isSecure }
        if name.hasPrefix("__host-") {
            return cookie.isSecure && target.isSecure && !domain.hasPrefix(".") && cookie.path == "/"
        }
        return true
    }
}
