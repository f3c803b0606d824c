import Foundation

// The stock URLProtectionSpace compares by identity, so a storage doesn't find what was stored for an equal space. These
// compare what the spaces say. They may call a program's own subclass: never on the loop.

extension URLCredentialStorage {
    /// The default credential for `space`, or for a stored one that says the same.
    func matchingDefault(for space: URLProtectionSpace) -> URLCredential? {
        defaultCredential(for: space) ?? stored(like: space).flatMap(defaultCredential)
    }

    /// Stores `credential` for `space`, in the place of one for a space that says the same.
    func store(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, for: stored(like: space) ?? space)
    }

    private func stored(like space: URLProtectionSpace) -> URLProtectionSpace? {
        allCredentials.keys.first { $0.says(theSameAs: space) }
    }
}

extension URLProtectionSpace {
    func says(theSameAs other: URLProtectionSpace) -> Bool {
        host.isEqualIgnoringASCIICase(to: other.host) && port == other.port && shownRealm == other.shownRealm
            && isProxy() == other.isProxy() && plainProtocol == other.plainProtocol
            && (authenticationMethod == other.authenticationMethod
                || authenticationMethod == NSURLAuthenticationMethodDefault
                || other.authenticationMethod == NSURLAuthenticationMethodDefault)
    }

    /// Programs store credentials for challenges without a realm under either.
    private var shownRealm: String { realm ?? host.lowercased() }

    /// Programs name protocols by scheme and by constant.
    private var plainProtocol: String? {
        switch self.protocol {
        case NSURLProtectionSpaceHTTP: "http"
        case NSURLProtectionSpaceHTTPS: "https"
        case let other: other?.lowercased()
        }
    }
}
