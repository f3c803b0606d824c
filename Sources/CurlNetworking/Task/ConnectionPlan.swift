import Curl

/// What a session's settings say about the connections to one origin. Made when the session first has to do with the origin.
struct ConnectionPlan {
    /// How many may be open at once.
    var limit: Int
    /// Whether there is a proxy in between.
    var route = ProxyRoute.direct
    /// What libcurl is told; nil for its defaults and ours.
    var profile: ConnectionProfile?

    init(limit: Int, profile: ConnectionProfile? = nil) {
        self.limit = limit
        self.profile = profile
    }

    init(_ settings: SessionSettings, for origin: Origin) {
        limit = settings.hosts.first(\.maximumConnections, for: origin) ?? settings.maximumConnectionsPerHost
        if !settings.names.usesUnixSocket(for: origin) {
            route = settings.proxies.route(to: origin, own: settings.hosts.first(\.proxy, for: origin))
        }
        let connectionSettings = Self.connectionSettings(settings, for: origin, through: route)
        profile = connectionSettings.isEmpty ? nil : ConnectionProfile(connectionSettings)
    }

    /// Only what differs from the defaults.
    private static func connectionSettings(
        _ settings: SessionSettings,
        for origin: Origin,
        through route: ProxyRoute
    ) -> [any ConnectionSettings] {
        var list: [any ConnectionSettings] = []
        if let names = settings.names.settings(for: origin) { list.append(names) }
        list += settings.tls.connectionSettings(for: origin, settings.hosts)
        if let server = route.server { list.append(ProxySettings(server, for: origin)) }
        return list
    }
}
