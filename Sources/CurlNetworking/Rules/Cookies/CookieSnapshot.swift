import Foundation

/// The cookies that were last read from a storage. A value.
///
/// The stock storage doesn't report changes. But cookies are immutable, so nothing has changed while it has the same objects in the same
/// order.
struct CookieSnapshot {
    struct Difference {
        var removed: [CookieKey] = []
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
        var gone: [ObjectIdentifier: CookieKey] = [:]
        for cookie in cookies[start...].dropLast(end) {
            let object = ObjectIdentifier(cookie)
            gone[object] = keys.removeValue(forKey: object)
        }
        var difference = Difference()
        var replaced: Set<CookieKey> = []
        for cookie in newCookies[start...].dropLast(end) {
            let object = ObjectIdentifier(cookie)
            if let key = gone.removeValue(forKey: object) {
                keys[object] = key
            } else {
                let added = StoredCookie(cookie, isInStorage: true)
                keys[object] = added.key
                replaced.insert(added.key)
                difference.added.append(added)
            }
        }
        difference.removed = gone.values.filter { !replaced.contains($0) }
        cookies = newCookies
        return difference
    }
}
