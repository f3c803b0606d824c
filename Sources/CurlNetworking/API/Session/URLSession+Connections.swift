/// A snapshot of a session's connections to one origin. An addition of this module.
public struct OriginConnections: Sendable, Hashable {
    /// "http", "https", "http+unix" or "https+unix"; "tcp" for stream tasks.
    public let scheme: String
    /// The name or address, in lower case. For a Unix socket in the URL, its path, or "@" and its abstract name.
    public let host: String
    /// The port, even if the URL has none; 0 for a Unix socket.
    public let port: Int
    /// The number of connections that are open or being opened. While several addresses of a host are tried at once, each counts.
    public let open: Int
    /// The number of those that carry a request or are being opened for one.
    public let inUse: Int
    /// The number of admitted tasks: with HTTP/2, there may be several per connection.
    public let running: Int
    /// The number of tasks waiting to be admitted.
    public let waiting: Int
    /// The number of finished requests that reused a connection opened for an earlier request.
    public let reuseCount: Int
    /// The protocol of the origin's last response, as an ALPN identifier (RFC 7301): "http/1.1", "h2" or "h3"; nil before the first
    /// response.
    public let protocolName: String?
    /// The index of the event loop that the origin is bound to, from 0; always 0 unless there are several (``CurlOptions/eventLoops``).
    public let eventLoop: Int

    /// The number of idle connections.
    public var idle: Int { open - inUse }
}

extension _URLSessionAdditions where Self: URLSession {
    /// A snapshot of the session's connections, by origin; an addition of this module.
    ///
    /// FTP connections, and origins that have had no connection or request for a long time, are omitted. A connection through a proxy
    /// counts towards the origin it was opened for. If there are several event loops, they are queried one after another. Each query costs
    /// a little time per connection and running task; nothing is counted otherwise.
    public var connections: [OriginConnections] {
        get async {
            var origins: [OriginConnections] = []
            for pool in core.pools.all { origins += await pool.connectionSnapshot }
            return origins.sorted { ($0.host, $0.port, $0.scheme) < ($1.host, $1.port, $1.scheme) }
        }
    }
}
