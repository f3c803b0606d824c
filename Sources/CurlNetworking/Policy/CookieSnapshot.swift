import Foundation

/// The cookies that were last read from a storage. A value.
///
/// The stock storage doesn't report changes. But cookies are immutable: while it has the same objects in the same order, nothing has
/// changed.
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

    /// What has happened to the storage, which has `newCookies` now. A cookie that was replaced is in `added` alone.
    mutating func update(to newCookies: [HTTPCookie]) -> Difference {
        var difference = Difference()
        var newKeys: [ObjectIdentifier: CookieKey] = [:]
        newKeys.reserveCapacity(newCookies.count)
        var replaced: Set<CookieKey> = []
        for cookie in newCookies {
            let object = ObjectIdentifier(cookie)
            if let key = keys.removeValue(forKey: object) {
                newKeys[object] = key
            } else {
                let added = StoredCookie(cookie, isInStorage: true)
                newKeys[object] = added.key
                replaced.insert(added.key)
                difference.added.append(added)
            }
        }
        difference.removed = keys.values.filter { !replaced.contains($0) }
        keys = newKeys
        cookies = newCookies
        return difference
    }
}
