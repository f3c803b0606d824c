import Foundation

extension URL {
    /// The URL with the user name and password of `other`, which is of the same origin, unless it has its own.
    func withUserInformation(of other: URL) -> URL {
        guard user(percentEncoded: true) == nil, password(percentEncoded: true) == nil,
            let user = other.user(percentEncoded: true),
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        components.percentEncodedUser = user
        components.percentEncodedPassword = other.password(percentEncoded: true)
        return components.url ?? self
    }

    var withoutUserInformation: URL {
        guard user(percentEncoded: true) != nil || password(percentEncoded: true) != nil,
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        components.percentEncodedUser = nil
        components.percentEncodedPassword = nil
        return components.url ?? self
    }
}

extension Substring {
    /// The user name and password of a URL's user information (RFC 3986 §3.2.1), decoded; nil if they aren't text. Without a colon, there
    /// is no password.
    var userInformation: (user: String, password: String?)? {
        let parts = utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.compactMap { Substring($0).removingPercentEncoding }
        guard decoded.count == parts.count, let user = decoded.first else { return nil }
        return (user, decoded.dropFirst().first)
    }
}
