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
