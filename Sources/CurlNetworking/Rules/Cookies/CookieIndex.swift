import Foundation

/// Cookies by domain: a look-up examines only those of the host and its parents. A value.
struct CookieIndex: Sendable {
    private var domains: [String: [CookieKey: StoredCookie]] = [:]
    private(set) var count = 0

    init(_ cookies: [HTTPCookie] = []) {
        for cookie in cookies { insert(StoredCookie(cookie, isInStorage: true)) }
    }

    var isEmpty: Bool { count == 0 }

    subscript(key: CookieKey) -> StoredCookie? { domains[key.domain]?[key] }

    /// All cookies, in no particular order.
    var all: [StoredCookie] { domains.values.flatMap(\.values) }

    func cookies(ofDomain domain: String) -> [StoredCookie] {
        domains[domain].map { Array($0.values) } ?? []
    }

    /// The cookies of the domains below `domain`.
    func cookies(below domain: String) -> [StoredCookie] {
        let suffix = "." + domain
        var cookies: [StoredCookie] = []
        for (host, own) in domains where host.hasSuffix(suffix) && !CookieMatching.isAddress(host) {
            cookies += own.values
        }
        return cookies
    }

    /// The cookies of the domains above `host`.
    func cookies(above host: String) -> [StoredCookie] {
        guard !CookieMatching.isAddress(host) else { return [] }
        var cookies: [StoredCookie] = []
        var rest = host[...]
        while let parent = rest.parentDomain {
            rest = parent
            if let own = domains[String(rest)] { cookies += own.values }
        }
        return cookies
    }

    /// The cookies of each site that has more than `limit`. A site is a registered domain with all domains below it.
    func cookies(ofSitesWithMoreThan limit: Int) -> [[StoredCookie]] {
        guard count > limit else { return [] }
        let sites = Dictionary(grouping: domains.keys) { PublicSuffixList.site(of: $0) }
        return sites.values.compactMap { names -> [StoredCookie]? in
            let own = names.reduce(0) { $0 + (domains[$1]?.count ?? 0) }
            return own > limit ? names.flatMap { cookies(ofDomain: $0) } : nil
        }
    }

    /// Returns the cookie as inserted: one that replaces another takes over its creation time.
    @discardableResult
    mutating func insert(_ cookie: StoredCookie) -> StoredCookie {
        var cookie = cookie
        if let older = self[cookie.key] { cookie.created = older.created } else { count += 1 }
        domains[cookie.key.domain, default: [:]][cookie.key] = cookie
        return cookie
    }

    @discardableResult
    mutating func remove(_ key: CookieKey) -> StoredCookie? {
        guard let removed = domains[key.domain]?.removeValue(forKey: key) else { return nil }
        if domains[key.domain]?.isEmpty ?? false { domains[key.domain] = nil }
        count -= 1
        return removed
    }

    /// Sets whether the storage has the cookie.
    mutating func mark(_ key: CookieKey, isInStorage: Bool) {
        domains[key.domain]?[key]?.isInStorage = isInStorage
    }

    // MARK: - Look-ups

    /// The cookies that a look-up examines.
    func candidates(for target: CookieTarget) -> [StoredCookie] {
        cookies(ofDomain: target.host) + cookies(above: target.host)
    }

    /// The cookies for a request to `target`, in the order of RFC 6265 §5.4: longer paths first, then older cookies.
    func cookies(for target: CookieTarget, now: Date) -> [StoredCookie] {
        let matching = candidates(for: target).filter { $0.matches(target, now: now) }
        guard matching.count > 1 else { return matching }
        return matching.sorted { a, b in
            (b.key.path.utf8.count, a.created, a.key.name) < (a.key.path.utf8.count, b.created, b.key.name)
        }
    }

    /// The value of the `Cookie` field for `target`; nil if no cookie matches. Cookies that don't fit are left out.
    func fieldValue(for target: CookieTarget, now: Date) -> String? {
        let sent = sentPairs(for: target, now: now)
        return sent.isEmpty ? nil : sent.map(\.pair).joined(separator: Self.separator)
    }

    /// The cookies in that field.
    func sentCookies(for target: CookieTarget, now: Date) -> [StoredCookie] {
        sentPairs(for: target, now: now).map(\.cookie)
    }

    private func sentPairs(for target: CookieTarget, now: Date) -> [(cookie: StoredCookie, pair: String)] {
        var (length, sent) = (0, [(cookie: StoredCookie, pair: String)]())
        for cookie in cookies(for: target, now: now) {
            guard let pair = cookie.pair else { continue }
            let longer = length + (sent.isEmpty ? 0 : Self.separator.utf8.count) + pair.utf8.count
            guard longer <= Self.maximumField else { continue }
            length = longer
            sent.append((cookie, pair))
        }
        return sent
    }

    private static let separator = "; "

    /// In bytes, as in libcurl. Servers refuse requests with more, so a host's cookies could lock clients out of others of its domain.
    static let maximumField = 8190
}
