import Foundation

// The stock URLProtectionSpace compares by identity, so a storage doesn't find what was stored for an equal space. These methods compare
// the values. They may call a program's own subclass, so never on the loop.

extension URLCredentialStorage {
    /// The default credential for `space`, or for a stored space with the same values.
    func matchingDefault(for space: URLProtectionSpace) -> URLCredential? {
        defaultCredential(for: space) ?? others(like: space).lazy.compactMap { self.defaultCredential(for: $0) }.first
    }

    /// The credentials for `space` and for the stored spaces with the same values, by user name; nil if there are none.
    func matchingCredentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        var found = credentials(for: space)
        for other in others(like: space) {
            guard let more = credentials(for: other) else { continue }
            found = (found ?? [:]).merging(more) { first, _ in first }
        }
        return found
    }

    /// Stores `credential` for `space`, replacing the same user's for a space with the same values, even as its default, where the stock
    /// method leaves an old password.
    func store(_ credential: URLCredential, for space: URLProtectionSpace) {
        let space = stored(like: space)
        set(credential, for: space)
        guard let old = defaultCredential(for: space), old.user == credential.user, old != credential else { return }
        setDefaultCredential(credential, for: space)
    }

    /// Makes `credential` the default for `space`, replacing that of a space with the same values.
    func storeDefault(_ credential: URLCredential, for space: URLProtectionSpace) {
        setDefaultCredential(credential, for: stored(like: space))
    }

    /// Removes `credential` for `space` and for the stored spaces with the same values.
    func removeMatching(_ credential: URLCredential, for space: URLProtectionSpace, options: [String: AnyObject]?) {
        for space in [space] + others(like: space) { remove(credential, for: space, options: options) }
    }

    /// The stored space for `space`, if any: itself in preference to another with the same values.
    private func stored(like space: URLProtectionSpace) -> URLProtectionSpace {
        credentials(for: space) == nil ? others(like: space).first ?? space : space
    }

    /// The other stored spaces with the same values.
    private func others(like space: URLProtectionSpace) -> [URLProtectionSpace] {
        allCredentials.keys.filter { $0 != space && $0.hasSameValues(as: space) }
    }
}

extension URLProtectionSpace {
    func hasSameValues(as other: URLProtectionSpace) -> Bool {
        host.isEqualIgnoringASCIICase(to: other.host) && actualPort == other.actualPort
            && shownRealm.hasSameBytes(as: other.shownRealm)
            && isProxy() == other.isProxy() && plainProtocol == other.plainProtocol
            && (authenticationMethod == other.authenticationMethod
                || authenticationMethod == NSURLAuthenticationMethodDefault
                || other.authenticationMethod == NSURLAuthenticationMethodDefault)
    }

    /// Port 0 stands for the default of the protocol, or of the proxy's kind.
    private var actualPort: Int {
        if port != 0 { return port }
        return switch isProxy() ? proxyType : plainProtocol {
        case NSURLProtectionSpaceHTTPProxy: 80
        case NSURLProtectionSpaceHTTPSProxy: 443
        case let name: name.flatMap { Scheme($0) }?.defaultPort ?? 0
        }
    }

    /// For challenges without a realm, programs store credentials with none or the host.
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
