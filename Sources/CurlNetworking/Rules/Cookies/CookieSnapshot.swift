import Foundation

/// The cookies that were last read from a storage. A value.
///
/// The stock storage doesn't report changes. But cookies are immutable, so nothing has changed while it has the same objects in the same
/// order.
struct CookieSnapshot {
    struct Difference {
        var removed: [StoredCookie] = []
        var added: [StoredCookie] = []
    }

    private(set) var cookies: [HTTPCookie] = []
    private var keys: [ObjectIdentifier: CookieKey] = [:]

    static func areSame(_ a: [HTTPCookie], _ b: [HTTPCookie]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { $0 === $1 }
    }

    /// What has changed in the storage, which has `newCookies` now. A cookie that was replaced is only in `added`.
    mutating func update(to newCookies: [HTTPCookie]) -> Difference {
        // Usually one of many has changed.
        let start = zip(cookies, newCookies).prefix { $0 === $1 }.count
        let end = zip(cookies[start...].reversed(), newCookies[start...].reversed()).prefix { $0 === $1 }.count
        var gone: [ObjectIdentifier: HTTPCookie] = [:]
        for cookie in cookies[start...].dropLast(end) { gone[ObjectIdentifier(cookie)] = cookie }
        var difference = Difference()
        var replaced: Set<CookieKey> = []
        for cookie in newCookies[start...].dropLast(end) {
            let object = ObjectIdentifier(cookie)
            guard gone.removeValue(forKey: object) == nil else { continue }
            let added = StoredCookie(cookie, isInStorage: true)
            keys[object] = added.key
            replaced.insert(added.key)
            difference.added.append(added)
        }
        for (object, cookie) in gone {
            guard let key = keys.removeValue(forKey: object), !replaced.contains(key) else { continue }
            difference.removed.append(StoredCookie(cookie))
        }
        cookies = newCookies
        return difference
    }
}
