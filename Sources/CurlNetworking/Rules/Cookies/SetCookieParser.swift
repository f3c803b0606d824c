import Foundation

/// A parsed `Set-Cookie` field (RFC 6265 §5.2).
struct ParsedCookie: Equatable, Sendable {
    var name: String
    var value: String
    /// From `Max-Age`, or else `Expires`; nil for a session cookie.
    var expires: Date?
    /// Without a leading dot, in lower case and, unless it is too long for a name, in ASCII; nil for the host only.
    var domain: String?
    /// nil for the default (§5.1.4).
    var path: String?
    var isSecure = false
    var isHTTPOnly = false
}

/// Parses `Set-Cookie` fields, one cookie each. Like the RFC's algorithm it tolerates servers' mistakes, except control characters and
/// excessive sizes.
enum SetCookieParser {
    /// In bytes: name and value together, and the value of an attribute. Longer ones are ignored, as in browsers.
    private static let maximumPairSize = 4096
    static let maximumAttributeSize = 1024

    /// nil if the field isn't a valid cookie.
    static func parse(_ field: String, now: Date) -> ParsedCookie? {
        guard !field.utf8.contains(where: \.isFieldControl) else { return nil }
        var parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        guard let pair = parts.popFirst(), let (name, value) = split(pair), let value, !name.isEmpty,
            name.utf8.count + value.utf8.count <= maximumPairSize
        else { return nil }
        var cookie = ParsedCookie(name: name, value: value)
        var maximumAge: Date?
        for part in parts {
            guard let (name, value) = split(part), value?.utf8.count ?? 0 <= maximumAttributeSize else { continue }
            switch name.lowercased() {
            case "expires": if let date = value.flatMap(CookieDate.parse) { cookie.expires = date }
            case "max-age": if let date = value.flatMap({ date(afterSeconds: $0, now: now) }) { maximumAge = date }
            case "domain": if let value, !value.isEmpty { cookie.domain = domain(value) }
            case "path": cookie.path = value?.utf8.first == UInt8(ascii: "/") ? value : nil
            case "secure": cookie.isSecure = true
            case "httponly": cookie.isHTTPOnly = true
            default: break
            }
        }
        if let maximumAge { cookie.expires = maximumAge }
        return cookie
    }

    /// What a field that sets `cookie` would say; nil if no field can set it.
    static func parsed(_ cookie: HTTPCookie) -> ParsedCookie? {
        let texts = [cookie.name, cookie.value, cookie.domain, cookie.path]
        guard !texts.contains(where: { $0.utf8.contains { $0.isFieldControl || $0 == UInt8(ascii: ";") } }),
            !cookie.name.isEmpty, cookie.name.utf8.count + cookie.value.utf8.count <= maximumPairSize,
            max(cookie.domain.utf8.count, cookie.path.utf8.count) <= maximumAttributeSize
        else { return nil }
        let stored = StoredCookie(cookie)
        return ParsedCookie(
            name: cookie.name,
            value: cookie.value,
            expires: cookie.expiresDate,
            domain: domain(cookie.domain),
            path: cookie.path,
            isSecure: stored.isSecure,
            isHTTPOnly: stored.cookie.isHTTPOnly
        )
    }

    private static func split(_ part: Substring.UTF8View) -> (name: String, value: String?)? {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (text(part), nil) }
        return (text(part[..<equals]), text(part[part.index(after: equals)...]))
    }

    private static func text(_ part: Substring.UTF8View) -> String {
        String(Substring(part).trimmed)
    }

    /// The domain (§5.2.3), in the form in which domains are compared (§5.1.2). nil, for the host only, if nothing follows the dot (RFC
    /// 6265bis §5.7).
    private static func domain(_ value: String) -> String? {
        let domain = value.hasPrefix(".") ? String(value.dropFirst()) : value
        if domain.isEmpty { return nil }
        // As in the URL, an IPv6 address may have brackets.
        let host = domain.contains(":") ? HostSpelling.unbracketed(domain) : domain
        return HostSpelling.canonical(host) ?? domain.lowercased()
    }

    /// §5.2.2: zero and negative numbers mean the past; very large numbers are capped.
    private static func date(afterSeconds text: String, now: Date) -> Date? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        guard !text.hasPrefix("-"), let seconds = Int64(digits) ?? Int64?(.max), seconds > 0 else {
            return Date(timeIntervalSince1970: 0)
        }
        return now + TimeInterval(min(seconds, Int64(Int32.max)))
    }
}

/// The dates of `Set-Cookie`, in whatever order and punctuation servers write them (RFC 6265 §5.1.1).
enum CookieDate {
    static func parse(_ text: String) -> Date? {
        var time: (hour: Int, minute: Int, second: Int)?
        var (day, month, year): (Int?, Int?, Int?)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = self.month(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }
        guard let time, time.second < 60, let day, let month, let year else { return nil }
        return CivilTime(
            year: year,
            month: month,
            day: day,
            hour: time.hour,
            minute: time.minute,
            second: time.second
        ).date
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// What follows the seconds is ignored, even another colon.
    private static func time(_ token: Substring.UTF8View) -> (Int, Int, Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = wholeNumber(parts[0]), let minute = wholeNumber(parts[1]),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func wholeNumber(_ token: Substring.UTF8View) -> Int? {
        token.allSatisfy(\.isASCIIDigit) ? number(token, digits: 1...2) : nil
    }

    /// The digits that `token` begins with; what follows them is ignored.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let prefix = token.prefix(while: \.isASCIIDigit)
        return digits.contains(prefix.count) ? Int(Substring(prefix)) : nil
    }

    private static func month(_ token: Substring.UTF8View) -> Int? {
        token.count >= 3 ? CivilTime.month(named: token.prefix(3)) : nil
    }
}
