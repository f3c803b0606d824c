import CurlTransport

/// A session's settings for the connections to one origin. Created when the session first uses the origin.
struct ConnectionPlan {
    /// The maximum number of open connections.
    var limit: Int
    /// The maximum number of requests on a connection that multiplexes.
    var streams = Self.defaultStreams
    /// Whether connections may turn out to multiplex, and report when they are established.
    var mayMultiplex = false
    /// Whether connections speak HTTP/2 without TLS and without negotiation.
    var hasPriorKnowledge = false
    /// Whether connections can't be shared before their first response.
    var sharesWhenAnswered: Bool { hasPriorKnowledge && quirks.sharesPriorKnowledgeWhenAnswered }
    /// Whether all requests on such a connection except its first have to join it.
    var joinsPriorKnowledge: Bool { hasPriorKnowledge && quirks.restartsPriorKnowledge }
    var route = ProxyRoute.direct
    /// Whether every request goes through a tunnel, so that the proxy sees none.
    var usesTunnel = false
    /// Whether libcurl counts the connections together with those to other origins: through a proxy that sees the requests, to the host
    /// that `connectTo` names, or to all Unix sockets.
    var isCountedWithOthers = false
    /// Whether libcurl is told the addresses of the origin's host.
    var hasOwnAddresses = false
    /// libcurl's settings; nil for the defaults.
    var profile: ConnectionProfile?
    /// The open connections; nil if they aren't counted.
    var connections: ConnectionGroup?
    /// The open connections of web sockets, which can't be shared; nil if they aren't counted.
    var channels: ConnectionGroup?
    var quirks = CurlQuirks.current

    /// libcurl's `CURLMOPT_MAX_CONCURRENT_STREAMS`.
    static let defaultStreams = 100
}

extension ConnectionPlan {
    /// Without a loop, connections aren't counted.
    init(_ settings: SessionSettings, for origin: Origin, on loop: EventLoop? = nil) {
        limit = settings.hosts.first(\.maximumConnections, for: origin) ?? settings.maximumConnectionsPerHost
        streams = settings.limits.streams ?? Self.defaultStreams
        connections = loop.map { [limit] in ConnectionGroup(on: $0, limit: limit) }
        channels = loop.map { ConnectionGroup(on: $0) }
        let usesUnixSocket = settings.names.usesUnixSocket(for: origin)
        if !usesUnixSocket {
            route = settings.proxies.route(to: origin, own: settings.hosts.first(\.proxy, for: origin))
        }
        let names = settings.names.settings(for: origin, through: route.server)
        usesTunnel = route.server?.tunnels(to: origin, connectingElsewhere: names?.connectTo != nil) ?? false
        let isForwarded = route.server.map { !$0.isSOCKS && !usesTunnel } ?? false
        hasOwnAddresses = names?.overrides.contains { $0.host == origin.host && $0.port == origin.port } ?? false
        isCountedWithOthers = isForwarded || usesUnixSocket || names?.connectTo != nil
        // libcurl speaks HTTP/1.1 to a proxy that forwards requests.
        let wanted = settings.hosts.first(\.httpVersion, for: origin) ?? settings.httpVersion
        let version = isForwarded ? .automatic : wanted
        hasPriorKnowledge = origin.scheme.isHTTP && !origin.isSecure && version == .http2PriorKnowledge
        let mayBeHTTP2 = CurlLibrary.hasHTTP2 && origin.isSecure && version != .http1
        mayMultiplex = CurlLibrary.reportsConnections && (mayBeHTTP2 || hasPriorKnowledge)
        let minimumBuffer =
            quirks.forgetsHTTP2Input && (mayBeHTTP2 || hasPriorKnowledge) ? ReceiveBuffer.multiplexed : 0
        let connectionSettings = Self.connectionSettings(
            settings,
            for: origin,
            names,
            version,
            through: route,
            minimumBuffer: minimumBuffer
        )
        profile = connectionSettings.isEmpty ? nil : ConnectionProfile(connectionSettings)
    }

    /// Only settings that differ from the defaults.
    private static func connectionSettings(
        _ settings: SessionSettings,
        for origin: Origin,
        _ names: NameSettings?,
        _ version: CurlOptions.HTTPVersion,
        through route: ProxyRoute,
        minimumBuffer: Int
    ) -> [any ConnectionSettings] {
        var all: [any ConnectionSettings] = []
        if let names { all.append(names) }
        all += settings.tls.connectionSettings(for: origin)
        if let server = route.server {
            all.append(ProxySettings(server, for: origin))
            all += settings.tls.connectionSettings(through: server)
        }
        // The rest is only for HTTP.
        guard !origin.isFTP else { return all }
        if let setting = version.setting(for: origin) { all.append(setting) }
        return all + settings.connectionOptions.settings(for: origin, settings.hosts, minimumBuffer: minimumBuffer)
    }
}

extension CurlOptions.HTTPVersion {
    /// libcurl's setting; nil for its default, HTTP/2 if TLS negotiates it.
    fileprivate func setting(for origin: Origin) -> HTTPVersionSetting? {
        switch self {
        case .automatic: nil
        case .http1: HTTPVersionSetting(.http1)
        case .http2PriorKnowledge: origin.isSecure ? nil : HTTPVersionSetting(.http2PriorKnowledge)
        case .http3: origin.isSecure ? HTTPVersionSetting(.http3) : nil
        }
    }
}

extension CurlOptions.ConnectionOptions {
    /// libcurl's settings for connections to `origin`: each property as set by the first matching host that sets it, or else by the
    /// session.
    ///
    /// - Parameter minimumBuffer: The smallest receive buffer that libcurl needs, in bytes.
    fileprivate func settings(
        for origin: Origin,
        _ hosts: HostRules,
        minimumBuffer: Int
    ) -> [any ConnectionSettings] {
        Self.table.compactMap { row in
            var options = hosts.first({ row.isSet($0.connections) ? $0.connections : nil }, for: origin) ?? self
            options.receiveBufferSize = options.receiveBufferSize.map { max($0, minimumBuffer) }
            return row.setting(options)
        }
    }
}

extension ProxySettings {
    init(_ server: CurlOptions.ProxyServer, for origin: Origin) {
        self.init(url: server.canonical.description)
        alwaysTunnels = server.alwaysTunnels && !server.isSOCKS
        authorities = server.certificateAuthorities?.path
        // For HTTP through an HTTP proxy, the tasks send the credential when challenged. FTP has no challenges.
        if let credential = server.credential, server.isSOCKS || origin.isFTP {
            authentication = ProxyAuthentication(.basic, user: credential.user, password: credential.password)
        }
    }
}
