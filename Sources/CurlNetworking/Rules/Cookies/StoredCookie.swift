import Foundation

/// A cookie's identity (RFC 6265bis §5.7: name, domain, host-only flag and path).
struct CookieKey: Hashable, Sendable {
    /// In lower case, without a leading dot.
    let domain: String
    /// Whether the cookie is for exactly that host.
    let isHostOnly: Bool
    let path: String
    let name: String

    init(_ cookie: HTTPCookie) {
        let domain = cookie.domain
        isHostOnly = !domain.hasPrefix(".")
        self.domain = isHostOnly ? domain : String(domain.dropFirst())
        path = cookie.path
        name = cookie.name
    }
}

/// A cookie with the values that look-ups compare, read once.
struct StoredCookie: Sendable {
    /// With its attributes from before it was in a file.
    private(set) var cookie: HTTPCookie
    let key: CookieKey
    let isSecure: Bool
    let expires: Date?
    /// Empty for all ports.
    let ports: [Int]
    /// "name=value"; nil if that can't be sent.
    let pair: String?
    /// In seconds since 2001. A cookie that replaces another keeps its time (RFC 6265bis §5.7).
    var created: Double
    /// False while only the index has it: the storage gets it with the next batch, unless it is removed first.
    var isInStorage: Bool

    /// - Parameter ports: Ports in place of the cookie's; nil for the cookie's.
    init(_ cookie: HTTPCookie, isInStorage: Bool = false, ports: [Int]? = nil) {
        let note = CookieNote(cookie.comment)
        let isSecure = cookie.isSecure || note?.isSecure ?? false
        let isHTTPOnly = cookie.isHTTPOnly || note?.isHTTPOnly ?? false
        let isWhole = isSecure == cookie.isSecure && isHTTPOnly == cookie.isHTTPOnly
        self.cookie =
            isWhole ? cookie : cookie.with(isSecure: isSecure, isHTTPOnly: isHTTPOnly, comment: cookie.comment)
        self.isSecure = isSecure
        key = CookieKey(cookie)
        expires = cookie.expiresDate
        self.ports = ports ?? cookie.portList?.map(\.intValue) ?? []
        pair = Self.pair(key.name, cookie.value)
        // A noted time after the cookie's own can't be true.
        let made = cookie.properties?[HTTPCookiePropertyKey("Created")] as? Double ?? 0
        created = min(note?.created ?? made, made)
        self.isInStorage = isInStorage
    }

    /// A copy whose comment has what the storage's file doesn't keep. A session cookie isn't in the file, and a program's own comment is
    /// replaced only if the cookie would otherwise be sent over http.
    var noted: StoredCookie {
        let hasOwnComment = cookie.comment != nil && CookieNote(cookie.comment) == nil
        guard expires != nil, isSecure || !hasOwnComment else { return self }
        var noted = self
        let note = CookieNote(isSecure: isSecure, isHTTPOnly: cookie.isHTTPOnly, created: created)
        noted.cookie = cookie.with(isSecure: isSecure, isHTTPOnly: cookie.isHTTPOnly, comment: note.comment)
        return noted
    }

    /// nil if the text of a program's own cookie would end the line or begin another cookie.
    private static func pair(_ name: String, _ value: String) -> String? {
        let isClean = { (byte: UInt8) in !byte.isFieldControl && byte != UInt8(ascii: ";") }
        guard !name.isEmpty, name.utf8.allSatisfy({ isClean($0) && $0 != UInt8(ascii: "=") }),
            value.utf8.allSatisfy(isClean)
        else { return nil }
        return name + "=" + value
    }

    func isExpired(at now: Date) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    /// Whether a request to `target` carries the cookie (RFC 6265 §5.4).
    func matches(_ target: CookieTarget, now: Date) -> Bool {
        guard key.isHostOnly ? target.host == key.domain : target.domainMatches(key.domain),
            target.pathMatches(key.path), target.isSecure || !isSecure, !isExpired(at: now)
        else { return false }
        return ports.isEmpty || ports.contains(target.port)
    }

    /// Whether both are the same except for the creation time.
    func equals(_ other: StoredCookie) -> Bool {
        key == other.key && cookie.value.hasSameBytes(as: other.cookie.value) && expires == other.expires
            && isSecure == other.isSecure && cookie.isHTTPOnly == other.cookie.isHTTPOnly && ports == other.ports
    }
}
