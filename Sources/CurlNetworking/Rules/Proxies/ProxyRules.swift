/// The route to an origin.
enum ProxyRoute: Sendable, Equatable {
    case direct
    case through(CurlOptions.ProxyServer)
    /// A proxy is set, but invalid. Bypassing it could expose what the proxy is meant to hide.
    case unusable(String)

    var server: CurlOptions.ProxyServer? {
        if case .through(let server) = self { server } else { nil }
    }
}

/// A session's proxies: a host's own setting takes precedence over the session's, and that over the system's.
struct ProxyRules: Sendable {
    private let session: CurlOptions.Proxy
    private let system: ProxyTable

    init(_ session: CurlOptions.Proxy = .system, system: ProxyTable = ProxyTable()) {
        self.session = session
        self.system = system
    }

    /// - Parameter own: The setting for the host.
    func route(to origin: Origin, own: CurlOptions.Proxy?) -> ProxyRoute {
        switch own ?? session {
        case .system: system.route(to: origin)
        case .direct: .direct
        case .server(let server): ProxyExceptions(server).contain(origin) ? .direct : .through(server)
        }
    }
}
