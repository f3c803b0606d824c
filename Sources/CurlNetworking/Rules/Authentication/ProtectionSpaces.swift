import Foundation

/// A user name and password.
struct Credential: Sendable, Hashable {
    var user: String
    var password: String

    /// A server may know the password in one of two ways to write it that are equal to Swift, and refuse the other.
    static func == (a: Self, b: Self) -> Bool {
        a.user.hasSameBytes(as: b.user) && a.password.hasSameBytes(as: b.password)
    }

    /// The credential as Basic sends it (RFC 7617 §2), in UTF-8.
    var basicToken: String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
}

/// A party that asks for credentials, for one or more protection spaces.
struct Challenger: Sendable, Hashable {
    var party: AuthenticationParty
    /// The server's, or the proxy's.
    var origin: Origin
    /// The credential that is set for the proxy: hosts with different ones use the same proxy as different users. nil for a server.
    var configured: Credential?

    func space(of offer: AuthenticationOffer) -> ProtectionSpace {
        ProtectionSpace(party: party, origin: origin, realm: offer.realm, scheme: offer.scheme, configured: configured)
    }
}

/// A protection space (RFC 9110 §11.5): what one credential gives access to.
struct ProtectionSpace: Sendable, Hashable {
    var party: AuthenticationParty
    /// The server's, or the proxy's.
    var origin: Origin
    var realm: ExactText?
    var scheme: AuthenticationScheme
    /// The challenger's. Delegates and storages don't see it.
    var configured: Credential?

    var challenger: Challenger { Challenger(party: party, origin: origin, configured: configured) }

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
                realm: realm?.text ?? origin.host,
                authenticationMethod: scheme.method
            )
        case .proxy:
            URLProtectionSpace(
                proxyHost: origin.host,
                port: origin.port,
                type: inTunnel ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy,
                realm: realm?.text ?? origin.host,
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
        /// The delegate's object, to be stored once the credential has been accepted.
        var toBeStored: URLCredential?
        /// The nonce to use next, and how often it was used.
        var digest: DigestChallenge?
        var digestCount: UInt32 = 0
        /// The path prefixes in the space, none a prefix of another; empty for the whole origin.
        var prefixes: [String] = []
        /// When it was last set or accepted, as a sequence number.
        fileprivate var number: UInt64 = 0
    }

    private var known: [Origin: [ProtectionSpace: Known]] = [:]
    private var lastNumber: UInt64 = 0
    /// The spaces of each origin whose credentials were to be stored.
    private var stored: [Origin: Set<ProtectionSpace>] = [:]

    /// With more prefixes, the space is the whole origin.
    private static let maximumPrefixes = 64
    /// A server that names more realms than this is suspect: the least recently accepted is forgotten, and no more are stored.
    static let maximumSpaces = 64
    /// With more, all are forgotten.
    static let maximumOrigins = 10_000

    subscript(space: ProtectionSpace) -> Known? { known[space.origin]?[space] }

    /// Sets a credential for the space. `digest` is the challenge that it answers. A credential that is already known keeps its nonce, so
    /// that no count is used twice.
    ///
    /// - Parameter object: The same credential, if it is to be stored once it has been accepted.
    mutating func set(
        _ credential: Credential,
        for space: ProtectionSpace,
        digest: DigestChallenge?,
        toBeStored object: URLCredential? = nil
    ) {
        guard self[space]?.credential != credential else {
            if let object { known[space.origin]?[space]?.toBeStored = object }
            return
        }
        if known[space.origin] == nil, known.count >= Self.maximumOrigins { (known, stored) = ([:], [:]) }
        var entry = Known(credential: credential, isProven: false, toBeStored: object, digest: digest)
        entry.number = nextNumber()
        known[space.origin, default: [:]][space] = entry
        guard let spaces = known[space.origin], spaces.count > Self.maximumSpaces,
            let oldest = spaces.min(by: { $0.value.number < $1.value.number })
        else { return }
        known[space.origin]?[oldest.key] = nil
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// The server has a new nonce.
    mutating func renew(_ space: ProtectionSpace, _ digest: DigestChallenge) {
        guard self[space]?.digest?.nonce != digest.nonce else { return }
        known[space.origin]?[space]?.digest = digest
        known[space.origin]?[space]?.digestCount = 0
    }

    /// Notes that the credential was accepted at `url`. Returns the one to store now, if any, whichever task sent it.
    @discardableResult
    mutating func noteAcceptance(
        of credential: Credential,
        for space: ProtectionSpace,
        at url: URL
    ) -> URLCredential? {
        guard var entry = self[space], entry.credential == credential else { return nil }
        let prefixes = Self.prefixes(of: space, entry.digest, at: url)
        if !entry.isProven || !entry.prefixes.isEmpty {
            for prefix in prefixes where !entry.prefixes.contains(where: prefix.hasPrefix) {
                entry.prefixes.removeAll { $0.hasPrefix(prefix) }
                entry.prefixes.append(prefix)
            }
            if prefixes.isEmpty || entry.prefixes.count > Self.maximumPrefixes { entry.prefixes = [] }
        }
        entry.isProven = true
        entry.number = nextNumber()
        let object = entry.toBeStored.take().flatMap { mayBeStored(space) ? $0 : nil }
        known[space.origin]?[space] = entry
        return object
    }

    private mutating func mayBeStored(_ space: ProtectionSpace) -> Bool {
        let others = stored[space.origin, default: []]
        guard others.contains(space) || others.count < Self.maximumSpaces else { return false }
        stored[space.origin, default: []].insert(space)
        return true
    }

    /// Forgets a credential that isn't valid, or no longer is.
    mutating func forget(_ credential: Credential, for space: ProtectionSpace) {
        guard self[space]?.credential == credential else { return }
        known[space.origin]?[space] = nil
    }

    /// The challenger's known space of `url`: of several, the one with the longest prefix, and of these the most recently accepted.
    func space(for url: URL, of challenger: Challenger) -> ProtectionSpace? {
        guard let candidates = known[challenger.origin] else { return nil }
        let path = Self.path(of: url)
        let mayBeBelow = !path.mayLeadUpwards
        var best: (space: ProtectionSpace, rank: (Int, UInt64))?
        for (space, entry) in candidates where entry.isProven && space.challenger == challenger {
            let lengths = entry.prefixes.filter { mayBeBelow && path.hasPrefix($0) }.map(\.utf8.count)
            guard let length = entry.prefixes.isEmpty ? 0 : lengths.max() else { continue }
            let rank = (length, entry.number)
            if best.map({ rank > $0.rank }) ?? true { best = (space, rank) }
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

    /// Basic: everything below the last slash of the path (RFC 7617 §2.2). Digest: the part of the challenge's domain on this origin, or
    /// the whole origin if there is no domain (RFC 7616 §3.3). Connections and proxies: everything.
    private static func prefixes(of space: ProtectionSpace, _ digest: DigestChallenge?, at url: URL) -> [String] {
        guard space.party == .server else { return [] }
        switch space.scheme {
        case .basic:
            return [basicPrefix(at: url)]
        case .digest:
            let named = digest?.domain ?? []
            let own = named.compactMap { URL(reference: $0, relativeTo: url) }.filter {
                Origin($0) == space.origin
            }
            // If the whole domain is elsewhere, only the path itself.
            return named.isEmpty ? [] : own.isEmpty ? [path(of: url)] : own.map(path)
        case .negotiate, .ntlm:
            return []
        }
    }

    /// The prefix of the paths to which a Basic credential requested at `url` may be sent.
    static func basicPrefix(at url: URL) -> String {
        let path = path(of: url)
        // No path is below one that may lead upwards.
        if path.mayLeadUpwards { return path + "/" }
        return String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    static func path(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }

    /// Whether `path` leads to something below `prefix`. With a segment "..", it may lead elsewhere: paths are sent as they are, and the
    /// server decides what it means (RFC 3986 §5.2.4).
    static func path(_ path: String, isBelow prefix: String) -> Bool {
        path.hasPrefix(prefix) && !path.mayLeadUpwards
    }
}

extension String {
    /// Whether a server may find a segment ".." in this path: it may decode dots and slashes, take a backslash for a slash, and skip what
    /// follows a semicolon, which a server in front of it may have decoded.
    fileprivate var mayLeadUpwards: Bool {
        /// The dots of the segment so far; nil once it has anything else.
        var dots: Int? = 0
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            switch byte == UInt8(ascii: "%") ? rest.popEscape() ?? byte : byte {
            case UInt8(ascii: "."):
                dots = dots.map { $0 + 1 }
            case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: ";"):
                if dots == 2 { return true }
                dots = 0
            default:
                dots = nil
            }
        }
        return dots == 2
    }
}
