import Curl

/// What a session's settings say about the connections to one origin. Made when the session first has to do with the origin.
struct ConnectionPlan {
    /// How many may be open at once.
    var limit: Int
    /// How many requests one of them may carry where it multiplexes.
    var streams = Self.defaultStreams
    /// Whether they may turn out to multiplex, and tell when they stand.
    var mayMultiplex = false
    /// They speak HTTP/2 without TLS, and without having asked.
    var hasPriorKnowledge = false
    /// They can't be shared before their first answer.
    var sharesWhenAnswered: Bool { hasPriorKnowledge && CurlLibrary.sharesPriorKnowledgeWhenAnswered }
    /// Whether there is a proxy in between.
    var route = ProxyRoute.direct
    /// What libcurl is told; nil for its defaults and ours.
    var profile: ConnectionProfile?
    /// Those that are open; nil where nobody counts them.
    var connections: ConnectionGroup?

    /// libcurl's `CURLMOPT_MAX_CONCURRENT_STREAMS`.
    static let defaultStreams = 100

    init(limit: Int, profile: ConnectionProfile? = nil) {
        self.limit = limit
        self.profile = profile
    }

    /// Without a loop nobody counts the connections.
    init(_ settings: SessionSettings, for origin: Origin, on loop: EventLoop? = nil) {
        limit = settings.hosts.first(\.maximumConnections, for: origin) ?? settings.maximumConnectionsPerHost
        streams = settings.streamsPerConnection ?? Self.defaultStreams
        connections = loop.map { ConnectionGroup(on: $0) }
        let version = settings.hosts.first(\.httpVersion, for: origin) ?? settings.httpVersion
        hasPriorKnowledge = !origin.isFTP && !origin.isSecure && version == .http2PriorKnowledge
        let mayBeHTTP2 = CurlLibrary.hasHTTP2 && origin.isSecure && version != .http1
        mayMultiplex = CurlLibrary.reportsConnections && (mayBeHTTP2 || hasPriorKnowledge)
        if !settings.names.usesUnixSocket(for: origin) {
            route = settings.proxies.route(to: origin, own: settings.hosts.first(\.proxy, for: origin))
        }
        let connectionSettings = Self.connectionSettings(settings, for: origin, version, through: route)
        profile = connectionSettings.isEmpty ? nil : ConnectionProfile(connectionSettings)
    }

    /// Only what differs from the defaults.
    private static func connectionSettings(
        _ settings: SessionSettings,
        for origin: Origin,
        _ version: CurlOptions.HTTPVersion,
        through route: ProxyRoute
    ) -> [any ConnectionSettings] {
        var all: [any ConnectionSettings] = []
        if let names = settings.names.settings(for: origin) { all.append(names) }
        all += settings.tls.connectionSettings(for: origin, settings.hosts)
        if let server = route.server { all.append(ProxySettings(server, for: origin)) }
        // The rest is about HTTP.
        guard !origin.isFTP else { return all }
        if let setting = version.setting(for: origin) { all.append(setting) }
        if let tuning = settings.connectionOptions.tuning(for: origin, settings.hosts) { all.append(tuning) }
        return all
    }
}

extension CurlOptions.HTTPVersion {
    /// What libcurl is told; nil for its default, HTTP/2 where TLS agrees on it.
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
    /// What holds for `origin`; nil for nothing beyond the defaults.
    fileprivate func tuning(for origin: Origin, _ hosts: HostRules) -> ConnectionTuning? {
        func value<Value>(_ option: KeyPath<Self, Value?>) -> Value? {
            hosts.first({ $0.connections[keyPath: option] }, for: origin) ?? self[keyPath: option]
        }
        var tuning = ConnectionTuning()
        tuning.idleLifetime = value(\.idleLifetime)
        tuning.lifetime = value(\.lifetime)
        tuning.keepAlive = value(\.keepAliveProbes).map {
            ConnectionTuning.KeepAlive(idle: $0.idle, interval: $0.interval, count: $0.count)
        }
        tuning.usesNoDelay = value(\.usesNoDelay)
        tuning.receiveBufferSize = value(\.receiveBufferSize)
        tuning.sendBufferSize = value(\.sendBufferSize)
        tuning.connectTimeout = value(\.connectTimeout)
        tuning.happyEyeballsDelay = value(\.happyEyeballsDelay)
        tuning.maximumReceiveRate = value(\.maximumReceiveRate)
        tuning.maximumSendRate = value(\.maximumSendRate)
        tuning.lowSpeed = value(\.lowSpeedLimit).map {
            ConnectionTuning.LowSpeed(bytesPerSecond: $0.bytesPerSecond, duration: $0.duration)
        }
        return tuning == ConnectionTuning() ? nil : tuning
    }
}
