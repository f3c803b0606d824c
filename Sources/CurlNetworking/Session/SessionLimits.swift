import CurlTransport
import Foundation

/// A session's limits on its connections. Each of its event loops has a share of them.
struct SessionLimits: Sendable {
    private let session: ConnectionLimits
    /// Whether the program limits the connections that are kept. Otherwise each loop may keep as many as a session with one.
    private let areKeptLimited: Bool

    init(_ configuration: URLSessionConfiguration, _ hosts: HostRules) {
        let curl = configuration.curl
        let perHost = max(1, configuration.httpMaximumConnectionsPerHost, hosts.greatest(\.maximumConnections) ?? 1)
        let idleLifetime = curl.connections.idleLifetime ?? ConnectionLimits.defaultIdleLifetime
        session = ConnectionLimits(
            kept: curl.maximumKeptConnections ?? max(256, perHost),
            total: curl.maximumConnections,
            perHost: perHost,
            streams: curl.maximumStreamsPerConnection,
            // The longest of all hosts, since libcurl itself doesn't reuse a connection that is too old for its host.
            idleLifetime: max(idleLifetime, hosts.greatest(\.connections.idleLifetime) ?? idleLifetime)
        )
        areKeptLimited = curl.maximumKeptConnections != nil
    }

    /// The maximum number of requests on a connection that multiplexes; nil for libcurl's default.
    var streams: Int? { session.streams }

    /// The limits on one of `count` event loops, from 0.
    func share(ofLoop index: Int, of count: Int) -> ConnectionLimits {
        func share(_ whole: Int) -> Int { whole / count + (index < whole % count ? 1 : 0) }
        var limits = session
        limits.total = limits.total.map(share)
        if areKeptLimited { limits.kept = share(limits.kept) }
        return limits
    }
}
