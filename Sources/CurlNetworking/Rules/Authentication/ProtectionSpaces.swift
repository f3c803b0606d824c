import Foundation

/// User name and password.
struct Credential: Sendable, Hashable {
    var user: String
    var password: String

    /// What Basic shows (RFC 7617 §2), in UTF-8.
    var basicToken: String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
}

/// A protection space (RFC 9110 §11.5): what one credential gives access to.
struct ProtectionSpace: Sendable, Hashable {
    var party: AuthenticationParty
    /// The server's, or the proxy's.
    var origin: Origin
    var realm: String?
    var scheme: AuthenticationScheme

    /// As passed to delegates and storages: the realm is the host if the challenge names none, as on Apple's platforms.
    var forDelegate: URLProtectionSpace { forDelegate(inTunnel: false) }

    /// A proxy counts as an https one if it opens a tunnel.
    func forDelegate(inTunnel: Bool) -> URLProtectionSpace {
        switch party {
        case .server:
            URLProtectionSpace(
                host: origin.host,
                port: origin.port,
                protocol: origin.scheme.rawValue,
                realm: realm ?? origin.host,
                authenticationMethod: scheme.method
            )
        case .proxy:
            URLProtectionSpace(
                proxyHost: origin.host,
                port: origin.port,
                type: inTunnel ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy,
                realm: realm ?? origin.host,
                authenticationMethod: scheme.method
            )
        }
    }
}

/// A session's credentials for the protection spaces that it knows. A value.
struct ProtectionSpaces: Sendable {
    struct Known: Sendable {
        var credential: Credential
        /// Whether a response has shown that the credential is valid.
        var isProven: Bool
        /// The nonce to use next, and how often it was used.
        var digest: DigestChallenge?
        var digestCount: UInt32 = 0
        /// The path prefixes in the space, none a prefix of another; empty for the whole origin.
        var prefixes: [String] = []
    }

    private var known: [Origin: [ProtectionSpace: Known]] = [:]

    /// With more prefixes, the space is the whole origin.
    private static let maximumPrefixes = 64

    subscript(space: ProtectionSpace) -> Known? { known[space.origin]?[space] }

    /// Sets a credential for the space. `digest` is the challenge that it answers. A credential that is known already keeps its nonce, so that
    /// no count is used twice.
    mutating func name(_ credential: Credential, for space: ProtectionSpace, digest: DigestChallenge?) {
        guard self[space]?.credential != credential else { return }
        known[space.origin, default: [:]][space] = Known(credential: credential, isProven: false, digest: digest)
    }

    /// The server has a new nonce.
    mutating func renew(_ space: ProtectionSpace, _ digest: DigestChallenge) {
        guard self[space]?.digest?.nonce != digest.nonce else { return }
        known[space.origin]?[space]?.digest = digest
        known[space.origin]?[space]?.digestCount = 0
    }

    /// The credential was accepted at `url`.
    mutating func prove(_ credential: Credential, for space: ProtectionSpace, at url: URL) {
        guard var entry = self[space], entry.credential == credential else { return }
        let prefixes = Self.prefixes(of: space, entry.digest, at: url)
        if !entry.isProven {
            entry.isProven = true
            entry.prefixes = prefixes
        } else if !entry.prefixes.isEmpty {
            for prefix in prefixes where !entry.prefixes.contains(where: prefix.hasPrefix) {
                entry.prefixes.removeAll { $0.hasPrefix(prefix) }
                entry.prefixes.append(prefix)
            }
            if prefixes.isEmpty || entry.prefixes.count > Self.maximumPrefixes { entry.prefixes = [] }
        }
        known[space.origin]?[space] = entry
    }

    /// The credential isn't valid, or isn't any more.
    mutating func forget(_ credential: Credential, for space: ProtectionSpace) {
        guard self[space]?.credential == credential else { return }
        known[space.origin]?[space] = nil
    }

    /// The known space of `url`: of several, the one with the longest prefix.
    func space(for url: URL, at origin: Origin, party: AuthenticationParty) -> ProtectionSpace? {
        guard let candidates = known[origin] else { return nil }
        let path = Self.path(of: url)
        var best: (space: ProtectionSpace, length: Int)?
        for (space, entry) in candidates where entry.isProven && space.party == party {
            let lengths = entry.prefixes.filter(path.hasPrefix).map(\.utf8.count)
            guard let length = entry.prefixes.isEmpty ? 0 : lengths.max() else { continue }
            if length > best?.length ?? -1 { best = (space, length) }
        }
        return best?.space
    }

    /// Counts a use of the space's nonce. Returns how often it has been used, including this time.
    mutating func countDigest(_ space: ProtectionSpace) -> UInt32 {
        let count = (self[space]?.digestCount ?? 0) &+ 1
        known[space.origin]?[space]?.digestCount = count
        return count
    }

    // MARK: - Extent

    /// Basic: everything below the last slash of the path (RFC 7617 §2.2). Digest: the part of the challenge's domain on this origin, or the
    /// whole origin if there is no domain (RFC 7616 §3.3). Connections and proxies: everything.
    private static func prefixes(of space: ProtectionSpace, _ digest: DigestChallenge?, at url: URL) -> [String] {
        guard space.party == .server else { return [] }
        switch space.scheme {
        case .basic:
            let path = path(of: url)
            return [String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])]
        case .digest:
            let named = digest?.domain ?? []
            let own = named.compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }.filter {
                Origin($0) == space.origin
            }
            // If the whole domain is elsewhere, only the path itself.
            return named.isEmpty ? [] : own.isEmpty ? [path(of: url)] : own.map(path)
        case .negotiate, .ntlm:
            return []
        }
    }

    private static func path(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }
}
