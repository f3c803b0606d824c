import Foundation

/// What a storage has to do to follow its index.
enum CookieChange: Sendable {
    case set(StoredCookie)
    case remove(StoredCookie)

    var cookie: StoredCookie {
        switch self {
        case .set(let cookie), .remove(let cookie): cookie
        }
    }

    /// May write a file, and wait for others that do.
    func apply(to storage: HTTPCookieStorage) {
        switch self {
        case .set(let stored): storage.setCookie(stored.cookie)
        case .remove(let stored): storage.deleteCookie(stored.cookie)
        }
    }
}

/// The storage model of RFC 6265bis §5.7, as far as it needs to know the other cookies.
extension CookieIndex {
    /// No server may fill the storage (RFC 6265bis §6.1): beyond these the oldest cookies go. What a program has stored beyond them
    /// stays, but responses add nothing to it.
    static let maximumPerDomain = 180
    static let maximumInAll = 3000

    /// Stores the cookies of one response. Returns what has changed by it.
    mutating func store(_ cookies: [HTTPCookie], isSecureOrigin: Bool, now: Date) -> [CookieChange] {
        var changes: [CookieChange] = []
        var added: [String: Int] = [:]
        var secureRelatives: [String: [StoredCookie]] = [:]
        for cookie in cookies {
            var new = StoredCookie(cookie)
            if !isSecureOrigin {
                let domain = new.key.domain
                let relatives = secureRelatives[domain] ?? secureCookies(relatedTo: domain, now: now)
                secureRelatives[domain] = relatives
                if relatives.contains(where: { $0.isProtected(from: new) }) { continue }
            }
            if let older = self[new.key], older.isExpired(at: now) {
                new.isInStorage = older.isInStorage
                remove(older.key)
            }
            guard !new.isExpired(at: now) else {
                if let older = remove(new.key) { changes.append(.remove(older)) }
                continue
            }
            if let older = self[new.key] {
                guard !older.equals(new) else { continue }
                new.isInStorage = older.isInStorage
            } else {
                added[new.key.domain, default: 0] += 1
            }
            insert(new)
            changes.append(.set(new))
        }
        return changes + removeExcess(added, now: now)
    }

    private mutating func removeExcess(_ added: [String: Int], now: Date) -> [CookieChange] {
        var removed: [StoredCookie] = []
        for (domain, count) in added {
            let own = cookies(ofDomain: domain)
            let excess = min(own.count - Self.maximumPerDomain, count)
            guard excess > 0 else { continue }
            // Secure ones last: http must not be able to crowd them out.
            let sorted = own.sorted { $0.goesBefore($1, sparingSecure: true, now: now) }
            removed += sorted.prefix(excess).compactMap { remove($0.key) }
        }
        let excess = min(count - Self.maximumInAll, added.values.reduce(0, +) - removed.count)
        if excess > 0 {
            let sorted = all.sorted { $0.goesBefore($1, sparingSecure: false, now: now) }
            removed += sorted.prefix(excess).compactMap { remove($0.key) }
        }
        return removed.map { .remove($0) }
    }

    /// Cookies for https alone whose domain matches `domain`, or is matched by it.
    private func secureCookies(relatedTo domain: String, now: Date) -> [StoredCookie] {
        (cookies(ofDomain: domain) + cookies(above: domain) + cookies(below: domain)).filter {
            $0.isSecure && !$0.isExpired(at: now)
        }
    }
}

extension StoredCookie {
    /// Whether `new`, which came over http from a related domain, would overwrite or shadow this secure cookie. Not symmetric: a cookie
    /// for a path further up may be set (RFC 6265bis §5.7).
    fileprivate func isProtected(from new: StoredCookie) -> Bool {
        key.name == new.key.name && CookieMatching.path(new.key.path, matches: key.path)
    }

    /// Whether it has to go rather than `other` (RFC 6265bis §5.7): expired ones first, then the oldest.
    fileprivate func goesBefore(_ other: StoredCookie, sparingSecure: Bool, now: Date) -> Bool {
        let (isExpired, isOtherExpired) = (isExpired(at: now), other.isExpired(at: now))
        if isExpired != isOtherExpired { return isExpired }
        if sparingSecure, isSecure != other.isSecure { return other.isSecure }
        return created < other.created
    }
}
