/// The way to an origin.
enum ProxyRoute: Sendable, Equatable {
    case direct
    case through(CurlOptions.ProxyServer)
    /// There should be a proxy, but what names it makes no sense. Going without it would show others what it was to hide.
    case unusable(String)

    var server: CurlOptions.ProxyServer? {
        if case .through(let server) = self { server } else { nil }
    }
}

/// A session's choice of proxies: what is set for a host counts before what is set for the session, and that before the system's.
struct ProxyRules: Sendable {
    private let session: CurlOptions.Proxy
    private let system: ProxyTable

    init(_ session: CurlOptions.Proxy = .system, system: ProxyTable = ProxyTable()) {
        self.session = session
        self.system = system
    }

    /// `own` is what is set for the host.
    func route(to origin: Origin, own: CurlOptions.Proxy?) -> ProxyRoute {
        switch own ?? session {
        case .system: system.route(to: origin)
        case .direct: .direct
        case .server(let server): ProxyExceptions(server).contain(origin) ? .direct : .through(server)
        }
    }
}

/// The system's proxies, of which there can be one for each of the URLs' schemes.
struct ProxyTable: Sendable {
    /// By the URL's scheme.
    var routes: [String: ProxyRoute] = [:]
    /// For all other schemes.
    var otherwise = ProxyRoute.direct
    var exceptions = ProxyExceptions()

    func route(to origin: Origin) -> ProxyRoute {
        let route = routes[origin.scheme] ?? otherwise
        return route == .direct || exceptions.contain(origin) ? .direct : route
    }
}
