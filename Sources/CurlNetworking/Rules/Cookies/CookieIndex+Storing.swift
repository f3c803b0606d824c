import Foundation

/// A change of an index that its storage has yet to make.
enum CookieChange: Sendable {
    case set(StoredCookie)
    case remove(StoredCookie)

    var cookie: StoredCookie {
        switch self {
        case .set(let cookie), .remove(let cookie): cookie
        }
    }

    /// May write a file, and wait for other writers.
    func apply(to storage: HTTPCookieStorage) {
        switch self {
        case .set(let stored): storage.setCookie(stored.cookie)
        case .remove(let stored): storage.deleteCookie(stored.cookie)
        }
    }
}

/// The part of RFC 6265bis §5.7's storage model that depends on other cookies.
extension CookieIndex {
    /// Limits on what servers store (RFC 6265bis §6.1): beyond these the oldest cookies are removed. Cookies that the program stored beyond
    /// them stay, but responses add none. One response sets no more cookies than one domain may have.
    static let maximumPerDomain = 180
    static let maximumInAll = 3000

    /// Stores the cookies of one response. Returns the changes.
    mutating func store(_ cookies: [HTTPCookie], isSecureOrigin: Bool, now: Date) -> [CookieChange] {
        var changes: [CookieChange] = []
        var added: Set<CookieKey> = []
        var secureRelatives: [String: [StoredCookie]] = [:]
        for cookie in cookies {
            let new = StoredCookie(cookie)
            if !isSecureOrigin {
                let domain = new.key.domain
                let relatives = secureRelatives[domain] ?? secureCookies(relatedTo: domain, now: now)
                secureRelatives[domain] = relatives
                if relatives.contains(where: { $0.isProtected(from: new) }) { continue }
            }
            if let change = store(new, &added, isSecureOrigin: isSecureOrigin, now: now) { changes.append(change) }
        }
        return changes + removeExcess(added, isSecureOrigin: isSecureOrigin, now: now)
    }

    /// Stores a cookie, or removes the one that it expires. Returns nil if nothing changes.
    private mutating func store(
        _ cookie: StoredCookie,
        _ added: inout Set<CookieKey>,
        isSecureOrigin: Bool,
        now: Date
    ) -> CookieChange? {
        var new = cookie
        if let older = self[new.key], older.isExpired(at: now) {
            new.isInStorage = older.isInStorage
            remove(older.key)
        }
        guard !new.isExpired(at: now) else { return remove(new.key).map(CookieChange.remove) }
        if let other = self.cookie(inPlaceOf: new) {
            if other.isSecure, !isSecureOrigin { return nil }
            remove(other.key)
            // Removing the new one from the storage also removes this one.
            if other.isInStorage { new.isInStorage = true }
        }
        if let older = self[new.key] {
            guard !older.equals(new) else { return nil }
            if older.isInStorage { new.isInStorage = true }
        } else {
            added.insert(new.key)
        }
        return .set(insert(new).noted)
    }

    /// - Parameter added: The cookies of the response that weren't there before.
    private mutating func removeExcess(_ added: Set<CookieKey>, isSecureOrigin: Bool, now: Date) -> [CookieChange] {
        var removed: [StoredCookie] = []
        let domains = Dictionary(grouping: added, by: \.domain).mapValues(\.count)
        for (domain, count) in domains {
            let own = cookies(ofDomain: domain)
            let excess = min(own.count - Self.maximumPerDomain, count)
            guard excess > 0 else { continue }
            // Secure ones last, so that http can't evict them.
            removed += Self.first(excess, of: own, now: now) { $0.isSecure ? 1 : 0 }.compactMap { remove($0) }
        }
        let excess = min(count - Self.maximumInAll, added.count - removed.count)
        if excess > 0 { removed += removeFirst(excess, added, isSecureOrigin: isSecureOrigin, now: now) }
        return removed.map { .remove($0) }
    }

    /// Makes room in a full index. After expired cookies, those that sites have beyond one domain's share go first: otherwise a site with
    /// many hosts could evict the cookies of all others.
    private mutating func removeFirst(
        _ excess: Int,
        _ added: Set<CookieKey>,
        isSecureOrigin: Bool,
        now: Date
    ) -> [StoredCookie] {
        let rank = { (cookie: StoredCookie) in added.contains(cookie.key) ? 1 : 0 }
        // New cookies from http go before any Secure one.
        let mayGo = { (cookie: StoredCookie) in isSecureOrigin || !cookie.isSecure || cookie.isExpired(at: now) }
        var first = Self.first(excess, of: all.filter { $0.isExpired(at: now) }, now: now, rank: rank)
            .compactMap { remove($0) }
        guard first.count < excess else { return first }
        var surplus: [StoredCookie] = []
        for site in cookies(ofSitesWithMoreThan: Self.maximumPerDomain) {
            let keys = Self.first(site.count - Self.maximumPerDomain, of: site.filter(mayGo), now: now, rank: rank)
            surplus += keys.compactMap { self[$0] }
        }
        first += Self.first(excess - first.count, of: surplus, now: now, rank: rank).compactMap { remove($0) }
        guard first.count < excess else { return first }
        let rest = Self.first(excess - first.count, of: all.filter(mayGo), now: now, rank: rank)
        return first + rest.compactMap { remove($0) }
    }

    /// The cookies to remove first (RFC 6265bis §5.7): expired ones, then those of the lowest `rank`, the oldest first.
    private static func first(
        _ count: Int,
        of cookies: [StoredCookie],
        now: Date,
        rank: (StoredCookie) -> Int
    ) -> [CookieKey] {
        // Sorts small values instead of the cookies, of which there may be many.
        let ranks = cookies.indices.map { index in
            let cookie = cookies[index]
            return (rank: cookie.isExpired(at: now) ? -1 : rank(cookie), created: cookie.created, index: index)
        }
        let sorted = ranks.sorted { a, b in (a.rank, a.created) < (b.rank, b.created) }
        return sorted.prefix(count).map { cookies[$0.index].key }
    }

    /// Another cookie that the storage would replace with `new`: it distinguishes cookies by the concatenation of domain, path and name.
    private func cookie(inPlaceOf new: StoredCookie) -> StoredCookie? {
        let length = new.key.path.utf8.count + new.key.name.utf8.count
        return cookies(ofDomain: new.key.domain).first { other in
            other.key.path.utf8.count + other.key.name.utf8.count == length && other.key != new.key
                && other.cookie.domain == new.cookie.domain
                && other.key.path + other.key.name == new.key.path + new.key.name
        }
    }

    /// `Secure` cookies whose domain matches `domain`, or is matched by it.
    private func secureCookies(relatedTo domain: String, now: Date) -> [StoredCookie] {
        (cookies(ofDomain: domain) + cookies(above: domain) + cookies(below: domain)).filter {
            $0.isSecure && !$0.isExpired(at: now)
        }
    }
}

extension StoredCookie {
    /// Whether `new`, set over http by a related domain, would overwrite or shadow this secure cookie. A cookie for a path further up may
    /// be set (RFC 6265bis §5.7).
    fileprivate func isProtected(from new: StoredCookie) -> Bool {
        key.name == new.key.name && CookieMatching.path(new.key.path, matches: key.path)
    }
}
