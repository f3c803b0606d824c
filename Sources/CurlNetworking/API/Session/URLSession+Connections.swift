/// A session's connections to one origin at one moment. An addition of this module.
public struct OriginConnections: Sendable, Hashable {
    /// "http", "https", "http+unix" or "https+unix"; "tcp" for stream tasks.
    public let scheme: String
    /// The name or address, in lower case. For a Unix socket that the URL names, its path, or "@" and its abstract name.
    public let host: String
    /// The port, even if the URL named none; 0 for such a socket.
    public let port: Int
    /// How many connections are open or being opened. While several addresses of a host are tried at once, each counts.
    public let open: Int
    /// How many of them carry a request or are being opened for one.
    public let inUse: Int
    /// How many tasks are admitted: with HTTP/2, there may be several to a connection.
    public let running: Int
    /// How many tasks wait to be admitted.
    public let waiting: Int
    /// How many finished requests used a connection that was opened for an earlier one.
    public let reuseCount: Int
    /// The protocol of the origin's last response, as an ALPN identifier (RFC 7301): "http/1.1", "h2" or "h3"; nil before the first response.
    public let protocolName: String?
    /// The number of the event loop that the origin is bound to, from 0; always 0 unless there are several (``CurlOptions/eventLoops``).
    public let eventLoop: Int

    /// How many connections are idle.
    public var idle: Int { open - inUse }
}

extension URLSession {
    /// The session's connections at this moment, by origin; an addition of this module.
    ///
    /// FTP connections, and origins that have had no connection or request for a long time, are left out. A connection through a proxy
    /// counts for the origin it was opened for. If there are several event loops, they are asked one after another. That costs them a
    /// little time for each connection and each running task; nothing is counted unless you ask.
    public var connections: [OriginConnections] {
        get async {
            var origins: [OriginConnections] = []
            for pool in core.pools.all { origins += await pool.connectionSnapshot }
            return origins.sorted { ($0.host, $0.port, $0.scheme) < ($1.host, $1.port, $1.scheme) }
        }
    }
}
