import Glibc

/// The hosts that are reached without a proxy.
struct ProxyExceptions: Sendable {
    /// A rule in one of the forms documented in `CurlOptions.ProxyServer.exceptions`.
    struct Rule: Hashable, Sendable {
        private enum Host: Hashable {
            case any
            case simpleNames
            case name(String)
            /// The domain with a dot in front.
            case below(String)
            case glob(String)
            case address(IPAddress)
            case network(IPNetwork)
        }

        private let hosts: [Host]
        private let port: Int?

        /// nil if `text` isn't a rule. `namesIncludeSubdomains`: a name also matches all names below it.
        init?(_ text: String, namesIncludeSubdomains: Bool) {
            let text = text.lowercased()
            if text.contains("/") {
                guard let network = IPNetwork(text) else { return nil }
                (hosts, port) = ([.network(network)], nil)
            } else if let address = IPAddress(HostSpelling.unbracketed(text)) {
                (hosts, port) = ([.address(address)], nil)
            } else if text == "<local>" {
                (hosts, port) = ([.simpleNames], nil)
            } else {
                guard let (host, port) = try? ProxyAddress.hostAndPort(text[...]),
                    let hosts = Self.hosts(host, namesIncludeSubdomains)
                else { return nil }
                (self.hosts, self.port) = (hosts, port)
            }
        }

        private static func hosts(_ text: String, _ namesIncludeSubdomains: Bool) -> [Host]? {
            let host = HostSpelling.withoutShortForms(HostSpelling.unbracketed(text))
            if let address = IPAddress(host) { return [.address(address)] }
            if text == "*" { return [.any] }
            let own = text.hasSuffix(".") ? String(text.dropLast()) : text
            guard !own.isEmpty, !own.contains(".."), !own.contains(where: { ":[]@?#\\%<>, ".contains($0) }) else {
                return nil
            }
            let name = ascii(own)
            if name.hasPrefix("*."), !name.dropFirst().contains("*") { return [.below(String(name.dropFirst()))] }
            if name.contains("*") { return [.glob(name)] }
            let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
            guard !bare.isEmpty else { return nil }
            if namesIncludeSubdomains { return [.name(bare), .below("." + bare)] }
            return [name.hasPrefix(".") ? .below("." + bare) : .name(bare)]
        }

        /// `name` in the form used in `Origin`. A label with a star stays as it is.
        private static func ascii(_ name: String) -> String {
            name.split(separator: ".", omittingEmptySubsequences: false).map { label in
                let label = String(label)
                return label.contains("*") ? label : Punycode.asciiHost(label)
            }.joined(separator: ".")
        }

        fileprivate func matches(_ host: String, _ address: IPAddress?, _ port: Int) -> Bool {
            guard self.port == nil || self.port == port else { return false }
            return hosts.contains { rule in
                switch rule {
                case .any: true
                case .simpleNames: address == nil && !host.contains(".")
                case .name(let name): host == name
                case .below(let domain): host.hasSuffix(domain) && host.count > domain.count
                case .glob(let pattern): fnmatch(pattern, host, 0) == 0
                case .address(let other): address == other
                case .network(let network): address.map(network.contains) ?? false
                }
            }
        }
    }

    private let rules: [Rule]

    /// Texts that aren't rules are ignored.
    init(_ texts: [String] = [], namesIncludeSubdomains: Bool = true, excludesSimpleHostnames: Bool = false) {
        let texts = excludesSimpleHostnames ? texts + ["<local>"] : texts
        rules = texts.compactMap { Rule($0, namesIncludeSubdomains: namesIncludeSubdomains) }
    }

    init(_ server: CurlOptions.ProxyServer) {
        self.init(server.exceptions, excludesSimpleHostnames: server.excludesSimpleHostnames)
    }

    func contain(_ origin: Origin) -> Bool {
        guard !rules.isEmpty else { return false }
        // A zone is free text, which would otherwise match a domain.
        let bare = HostSpelling.unbracketed(origin.hostWithoutZone)
        let host = bare.hasSuffix(".") ? String(bare.dropLast()) : bare
        let address = IPAddress(host)
        return rules.contains { $0.matches(host, address, origin.port) }
    }
}
