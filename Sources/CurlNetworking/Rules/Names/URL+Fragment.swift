import Foundation

extension URL {
    /// This URL with `other`'s fragment, or without one.
    func withFragment(of other: URL) -> URL {
        let fragment = other.fragment(percentEncoded: true)
        guard fragment != self.fragment(percentEncoded: true),
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        components.percentEncodedFragment = fragment
        return components.url ?? self
    }
}
