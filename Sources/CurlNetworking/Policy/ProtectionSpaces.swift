import Foundation

/// User name and password.
struct Credential: Sendable, Hashable {
    var user: String
    var password: String
}

/// A protection space (RFC 9110 §11.5): where one credential opens everything.
struct ProtectionSpace: Sendable, Hashable {
    var party: AuthenticationParty
    /// The server's, or the proxy's.
    var origin: Origin
    var realm: String?
    var scheme: AuthenticationScheme

    /// As delegates and storages get it: with the host for a realm where the challenge names none, as on Apple's platforms.
    var forDelegate: URLProtectionSpace { forDelegate(inTunnel: false) }

    /// A proxy that makes a tunnel is one for https.
    func forDelegate(inTunnel: Bool) -> URLProtectionSpace {
        switch party {
        case .server:
            URLProtectionSpace(
                host: origin.host,
                port: origin.port,
                protocol: origin.scheme,
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

/// The credentials that have opened, or are to open, the protection spaces that a session has come across. A value.
struct ProtectionSpaces: Sendable {
    struct Known: Sendable {
        var credential: Credential
        /// A response has shown that the credential is good.
        var isProven: Bool
        /// The nonce to go on with, and how often it was used.
        var digest: DigestChallenge?
        var digestCount: UInt32 = 0
        /// Path prefixes that belong to the space, none of them within another; empty for all of the origin.
        var prefixes: [String] = []
    }

    private var known: [Origin: [ProtectionSpace: Known]] = [:]

    /// More prefixes than these are taken as all of the origin.
    private static let maximumPrefixes = 64

    subscript(space: ProtectionSpace) -> Known? { known[space.origin]?[space] }

    /// Somebody has named this credential for the space. `digest` is the challenge it is to answer; one that is known already
    /// goes on with the nonce it has, so that no count is used twice.
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

    /// The credential has got an answer from `url`.
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

    /// The credential is no good there (any more).
    mutating func forget(_ credential: Credential, for space: ProtectionSpace) {
        guard self[space]?.credential == credential else { return }
        known[space.origin]?[space] = nil
    }

    /// The space that a request to `url` falls into, as far as responses have shown: the one with the longest prefix.
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

    /// How often the space's nonce has been used, this time included.
    mutating func countDigest(_ space: ProtectionSpace) -> UInt32 {
        let count = (self[space]?.digestCount ?? 0) &+ 1
        known[space.origin]?[space]?.digestCount = count
        return count
    }

    // MARK: - Extent

    /// Basic: everything at or below the last slash of the path (RFC 7617 §2.2). Digest: what the challenge says, as far as it
    /// is on this origin, or all of it (RFC 7616 §3.3). Connections and proxies: everything.
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
            // A domain that is elsewhere altogether leaves the path itself.
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
