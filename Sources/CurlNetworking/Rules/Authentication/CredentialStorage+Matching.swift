import Foundation

// The stock URLProtectionSpace compares by identity, so a storage doesn't find what was stored for an equal space. These compare the
// values. They may call a program's own subclass, so not on the loop.

extension URLCredentialStorage {
    /// The default credential for `space`, or for a stored space with the same values.
    func matchingDefault(for space: URLProtectionSpace) -> URLCredential? {
        defaultCredential(for: space) ?? stored(like: space).flatMap(defaultCredential)
    }

    /// Stores `credential` for `space`, replacing one for a space with the same values.
    func store(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, for: stored(like: space) ?? space)
    }

    private func stored(like space: URLProtectionSpace) -> URLProtectionSpace? {
        allCredentials.keys.first { $0.hasSameValues(as: space) }
    }
}

extension URLProtectionSpace {
    func hasSameValues(as other: URLProtectionSpace) -> Bool {
        host.isEqualIgnoringASCIICase(to: other.host) && port == other.port && shownRealm == other.shownRealm
            && isProxy() == other.isProxy() && plainProtocol == other.plainProtocol
            && (authenticationMethod == other.authenticationMethod
                || authenticationMethod == NSURLAuthenticationMethodDefault
                || other.authenticationMethod == NSURLAuthenticationMethodDefault)
    }

    /// For challenges without a realm, programs store credentials with either.
    private var shownRealm: String { realm ?? host.lowercased() }

    /// Programs name the protocol either by scheme or by constant.
    private var plainProtocol: String? {
        switch self.protocol {
        case NSURLProtectionSpaceHTTP: Scheme.http.rawValue
        case NSURLProtectionSpaceHTTPS: Scheme.https.rawValue
        case let other: other?.lowercased()
        }
    }
}
