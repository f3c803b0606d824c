import CCurlNetworkingLibcurl

/// How one origin's host is resolved, and where it is connected from. The value writes itself onto an easy handle; nil and empty leave
/// libcurl's default.
package struct NameSettings: ConnectionSettings, Equatable {
    package enum IPVersion: Sendable, Hashable {
        case v4, v6
    }

    package enum UnixSocket: Sendable, Hashable, CustomStringConvertible {
        case path(String)
        /// In Linux's abstract namespace; without the leading NUL.
        case abstract(String)

        package var description: String {
            switch self {
            case .path(let path): path
            case .abstract(let name): "@\(name)"
            }
        }
    }

    package enum LocalEnd: Sendable, Hashable {
        case interface(String)
        /// A numeric address, a range of ports, or both.
        case address(String?, ports: ClosedRange<UInt16>?)
    }

    /// A host and port to be looked up, and the numeric addresses to use for them.
    package struct Override: Sendable, Hashable {
        package var host: String
        package var port: Int
        package var addresses: [String]

        package init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// "host:port", either of which may be empty to keep the URL's own.
    package var connectTo: String?
    /// At most one for each host and port.
    package var overrides: [Override] = []
    package var cacheLifetime: Duration?
    /// Numeric addresses, each with or without a port.
    package var servers: [String] = []
    package var dnsOverHTTPS: String?
    package var ipVersion: IPVersion?
    package var unixSocket: UnixSocket?
    package var localEnd: LocalEnd?

    package init() {}

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        if let unixSocket {
            easy.traits.unixSocket = unixSocket
            switch unixSocket {
            case .path(let path): try easy.set(CURLOPT_UNIX_SOCKET_PATH, path)
            case .abstract(let name): try easy.set(CURLOPT_ABSTRACT_UNIX_SOCKET, name)
            }
            return
        }
        if let connectTo { try easy.set(CURLOPT_CONNECT_TO, list: ["::\(connectTo)"]) }
        if !overrides.isEmpty {
            let entries = overrides.map { "\($0.host):\($0.port):\($0.addresses.joined(separator: ","))" }
            try easy.set(CURLOPT_RESOLVE, list: entries)
        }
        if let cacheLifetime { try easy.set(CURLOPT_DNS_CACHE_TIMEOUT, Self.seconds(cacheLifetime)) }
        if !servers.isEmpty { try easy.set(CURLOPT_DNS_SERVERS, servers.joined(separator: ",")) }
        if let dnsOverHTTPS {
            try easy.set(CURLOPT_DOH_URL, dnsOverHTTPS)
            easy.traits.asksResolver = true
        }
        switch ipVersion {
        case .v4: try easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .v6: try easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        case nil: break
        }
        if let localEnd { try apply(localEnd, to: easy) }
    }

    /// The prefixes keep libcurl from confusing interfaces with addresses, and from looking them up.
    private func apply(_ localEnd: LocalEnd, to easy: EasyHandle) throws(TransferFailure) {
        switch localEnd {
        case .interface(let name):
            try easy.set(CURLOPT_INTERFACE, "if!\(name)")
        case .address(let address, let ports):
            if let address { try easy.set(CURLOPT_INTERFACE, "host!\(address)") }
            guard let ports else { return }
            try easy.set(CURLOPT_LOCALPORT, Int(ports.lowerBound))
            try easy.set(CURLOPT_LOCALPORTRANGE, ports.count)
        }
    }

    /// libcurl counts whole seconds, in 32 bits; fractions are rounded up.
    static func seconds(_ lifetime: Duration) -> Int {
        Int(min(max(0, (lifetime / .seconds(1)).rounded(.up)), Double(Int32.max)))
    }
}
