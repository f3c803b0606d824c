import CurlTransport
import Foundation

/// The hosts that an entry of the host table is for.
struct HostPattern: Hashable, Sendable {
    private enum Name: Hashable {
        case any
        /// The domain with a dot in front.
        case below(String)
        case exactly(String)
        /// In any zone; for an IPv4 address, also in IPv6 notation.
        case address(IPAddress)
    }

    private let name: Name
    private let port: Int?
    /// The host as it was written, in the form used in `Origin`, if the pattern names a single one.
    let host: String?

    /// nil unless `text` has one of the forms documented in `CurlOptions.HostTable`.
    init?(_ text: String) {
        let (host, port) = HostSpelling.splitPort(text[...])
        if let port {
            guard let number = HostSpelling.port(port) else { return nil }
            self.port = number
        } else {
            self.port = nil
        }
        if host == "*" {
            (name, self.host) = (.any, nil)
        } else if host.hasPrefix("*.") {
            // Nothing is below an address.
            guard let domain = Self.canonical(String(host.dropFirst(2))), !domain.isNumericAddress else {
                return nil
            }
            (name, self.host) = (.below("." + Self.withoutRoot(domain)), nil)
        } else {
            guard let host = Self.canonical(String(host)) else { return nil }
            (name, self.host) = (IPAddress(host).map(Name.address) ?? .exactly(Self.withoutRoot(host)), host)
        }
    }

    /// The host in the form used in `Origin`.
    private static func canonical(_ host: String) -> String? {
        guard !host.contains(where: { "*/?#@\\%".contains($0) }), HostSpelling.splitPort(host[...]).port == nil,
            let origin = URL(string: "http://\(host)/").flatMap(Origin.init), !hasEmptyLabel(origin.host)
        else { return nil }
        return origin.host
    }

    /// As ".example.com" has. The root's label, after the last dot, is always empty.
    private static func hasEmptyLabel(_ host: String) -> Bool {
        host.split(separator: ".", omittingEmptySubsequences: false).dropLast().contains("")
    }

    /// "example.com." is the same host as "example.com": an entry for one of them, which may pin keys, could otherwise be bypassed with the
    /// other.
    private static func withoutRoot(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    func matches(_ origin: Origin) -> Bool {
        guard port == nil || port == origin.port else { return false }
        switch name {
        case .any: return true
        // A path isn't a domain name.
        case .below where origin.isUnixSocket, .exactly where origin.isUnixSocket: return false
        case .below(let domain):
            // An address is below no domain, though its zone may look as if it were.
            let host = Self.withoutRoot(origin.hostWithoutZone)
            return host.hasSuffix(domain) && host.count > domain.count
        case .exactly(let host): return Self.withoutRoot(origin.host) == host
        case .address(let address): return IPAddress(origin.host) == address
        }
    }

    /// Whether the entry is also that of a host and port to which its own connections go.
    func matches(_ endpoint: CurlOptions.Endpoint) -> Bool {
        let authority = "\(HostSpelling.bracketed(endpoint.host)):\(endpoint.port ?? port ?? 80)"
        return URL(string: "http://\(authority)/").flatMap(Origin.init).map(matches) ?? false
    }

    /// Of two patterns that match an origin, the one with the greater rank takes precedence.
    var rank: Int {
        let portRank = port == nil ? 0 : 1
        switch name {
        case .any: return portRank
        case .below(let domain): return 2 * domain.count + portRank
        case .exactly, .address: return 1000 + portRank
        }
    }
}

/// The entries of a session's host table, in order of precedence.
struct HostRules: Sendable {
    private let rules: [(pattern: HostPattern, options: CurlOptions.HostOptions)]

    init(_ table: CurlOptions.HostTable) {
        rules = table.patterns
            .sorted()
            .compactMap { text in HostPattern(text).map { ($0, table[text]) } }
            .sorted { $0.0.rank > $1.0.rank }
    }

    /// The first value among the entries for `origin`.
    func first<Value>(_ value: (CurlOptions.HostOptions) -> Value?, for origin: Origin) -> Value? {
        for rule in rules where rule.pattern.matches(origin) {
            if let value = value(rule.options) { return value }
        }
        return nil
    }

    /// For each host, the first value among its entries; `otherwise` if there is none.
    func values<Value>(_ value: (CurlOptions.HostOptions) -> Value?, otherwise: Value) -> HostValues<Value> {
        let own = rules.compactMap { rule in value(rule.options).map { (rule.pattern, $0) } }
        return HostValues(own: own, otherwise: otherwise)
    }

    /// The greatest value among all entries.
    func greatest<Value: Comparable>(_ value: (CurlOptions.HostOptions) -> Value?) -> Value? {
        rules.compactMap { value($0.options) }.max()
    }
}

/// A value for every host, made once from the entries of a host table.
struct HostValues<Value: Sendable>: Sendable {
    /// In order of precedence.
    fileprivate let own: [(pattern: HostPattern, value: Value)]
    fileprivate let otherwise: Value

    subscript(_ origin: Origin) -> Value {
        own.first { $0.pattern.matches(origin) }?.value ?? otherwise
    }
}
