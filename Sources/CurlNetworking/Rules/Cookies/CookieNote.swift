import Foundation

/// What the stock storage's file doesn't keep of a cookie, written as the cookie's comment, which it keeps and RFC 6265 doesn't use, such
/// as `Secure; HttpOnly; Created=784111777.25`. Earlier versions wrote only `Secure`.
struct CookieNote: Equatable, Sendable {
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    /// In seconds since 2001; nil if the comment doesn't say.
    private(set) var created: Double?

    init(isSecure: Bool, isHTTPOnly: Bool, created: Double) {
        (self.isSecure, self.isHTTPOnly, self.created) = (isSecure, isHTTPOnly, created)
    }

    /// nil for a comment with none of this. Any program may have written it: unreadable parts are skipped.
    init?(_ comment: String?) {
        guard let comment else { return nil }
        for part in comment.split(separator: ";").map(\.trimmed) {
            switch part {
            case "Secure": isSecure = true
            case "HttpOnly": isHTTPOnly = true
            default:
                guard part.hasPrefix(Self.time), let seconds = Double(part.dropFirst(Self.time.count)) else { break }
                if seconds.isFinite, seconds >= 0 { created = seconds }
            }
        }
        if !isSecure, !isHTTPOnly, created == nil { return nil }
    }

    var comment: String {
        let flags = (isSecure ? ["Secure"] : []) + (isHTTPOnly ? ["HttpOnly"] : [])
        return (flags + (created.map { [Self.time + "\($0)"] } ?? [])).joined(separator: "; ")
    }

    private static let time = "Created="
}
