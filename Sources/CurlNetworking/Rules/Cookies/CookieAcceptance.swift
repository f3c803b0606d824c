import Foundation

/// Which cookies of a response are stored (RFC 6265bis §5.7), as far as that doesn't depend on other cookies.
struct CookieAcceptance {
    let policy: HTTPCookie.AcceptPolicy
    let isPublicSuffix: (String) -> Bool

    /// The cookies in `fields`, the values of the `Set-Cookie` fields in a response from `url`. Of several with the same key, the last
    /// counts. A response sets no more cookies than one domain may have, however many domains its host belongs to: the first ones are left
    /// out.
    func cookies(from fields: [String], at url: URL, mainDocument: URL?, now: Date) -> [HTTPCookie] {
        guard let target = CookieTarget(url), accepts(target, mainDocument: mainDocument) else { return [] }
        var accepted: [Accepted] = []
        var positions: [[String]: Int] = [:]
        for field in fields {
            guard let cookie = SetCookieParser.parse(field, now: now), let domain = domain(of: cookie, from: target),
                isSetSecurely(cookie, domain: domain, from: target)
            else { continue }
            let new = Accepted(cookie: cookie, domain: domain, path: cookie.path ?? target.defaultPath)
            let position = positions[[domain, new.path, cookie.name], default: accepted.count]
            if position < accepted.count {
                accepted[position] = new
            } else {
                positions[[domain, new.path, cookie.name]] = position
                accepted.append(new)
            }
        }
        return accepted.suffix(CookieIndex.maximumPerDomain).compactMap { HTTPCookie(properties: $0.properties) }
    }

    /// Those of `cookies`, made by the program, that a response from `url` could set; at most as many as one response sets.
    func acceptable(_ cookies: [HTTPCookie], at url: URL, mainDocument: URL?) -> [HTTPCookie] {
        guard let target = CookieTarget(url), accepts(target, mainDocument: mainDocument) else { return [] }
        let accepted = cookies.filter { cookie in
            guard var parsed = SetCookieParser.parsed(cookie) else { return false }
            let isHostOnly = !cookie.domain.hasPrefix(".")
            if isHostOnly, parsed.domain == target.host { parsed.domain = nil }
            // An address or a public suffix has a domain without a leading dot: a cookie for all of its hosts is refused.
            guard let domain = domain(of: parsed, from: target) else { return false }
            return (isHostOnly || domain.hasPrefix(".")) && isSetSecurely(parsed, domain: domain, from: target)
        }
        return Array(accepted.suffix(CookieIndex.maximumPerDomain))
    }

    fileprivate struct Accepted {
        let cookie: ParsedCookie
        /// With a leading dot if the cookie is for all hosts of the domain, without for the host only.
        let domain: String
        let path: String
    }

    /// `.onlyFromMainDocumentDomain` requires the main document's host or a parent of it; a request without a main document is its own.
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

    /// With a leading dot if the cookie is for all hosts of the domain, without for the host only; nil if the host may not set cookies for
    /// the domain.
    private func domain(of cookie: ParsedCookie, from target: CookieTarget) -> String? {
        guard let domain = cookie.domain else { return target.host }
        // The list has no names that end in a dot: "com." would pass, and be for all hosts "….com.".
        guard !domain.hasSuffix(".") else { return nil }
        if target.isAddress || isPublicSuffix(domain) { return domain == target.host ? domain : nil }
        // Domains above the site are shared: a public suffix can have a parent that is none.
        let site = PublicSuffixList.site(of: target.host, isSuffix: isPublicSuffix)
        return target.domainMatches(domain) && CookieMatching.domain(domain, matches: site) ? "." + domain : nil
    }

    // MARK: - Security

    /// Whether the cookie was set as its `Secure` attribute and the prefix of its name require (RFC 6265bis §5.7).
    private func isSetSecurely(_ cookie: ParsedCookie, domain: String, from target: CookieTarget) -> Bool {
        guard target.isSecure || !cookie.isSecure else { return false }
        // By bytes, as servers compare: to Swift, the hyphen and an accent after it are one character.
        let name = cookie.name.lowercased().utf8
        if name.starts(with: "__secure-".utf8) { return cookie.isSecure }
        if name.starts(with: "__host-".utf8) {
            return cookie.isSecure && !domain.hasPrefix(".") && cookie.path == "/"
        }
        return true
    }
}

extension CookieAcceptance.Accepted {
    fileprivate var properties: [HTTPCookiePropertyKey: Any] {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .domain: domain, .path: path,
        ]
        // As a date: the stock cookie ignores Max-Age without "Version=1".
        if let expires = cookie.expires { properties[.expires] = expires }
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        return properties
    }
}
