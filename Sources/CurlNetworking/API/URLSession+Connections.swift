/// A session's connections to one origin at one moment. An addition of this module.
public struct OriginConnections: Sendable, Hashable {
    /// "http" or "https".
    public let scheme: String
    /// The name or address, in lower case.
    public let host: String
    /// The port, also where the URL named none.
    public let port: Int
    /// How many connections are open, those being opened included. While several addresses of a host are tried at once, each counts.
    public let open: Int
    /// How many of them carry a request, or are being opened for one.
    public let inUse: Int
    /// How many tasks have a place at the origin: with HTTP/2, several for one connection.
    public let running: Int
    /// How many tasks wait for a place.
    public let waiting: Int
    /// How many finished requests ran on a connection that had been opened for an earlier one.
    public let reuseCount: Int
    /// What the origin last answered in, as its ALPN identifier (RFC 7301): "http/1.1", "h2" or "h3"; nil before its first answer.
    public let protocolName: String?
    /// Which of the session's event loops the origin is bound to, from 0; always 0 but where there are several
    /// (``CurlOptions/eventLoops``).
    public let eventLoop: Int

    /// How many wait for a request.
    public var idle: Int { open - inUse }
}

extension URLSession {
    /// The connections of the session as they are just now, by origin; an addition of this module.
    ///
    /// Origins that the session has forgotten, because nothing has been open or under way there for a long time, are missing, and so
    /// are those of FTP. A proxy's connection counts for the origin it was opened for. Several event loops are asked one after the other.
    /// Asking costs them a little time for each connection and each task under way; not asking costs nothing.
    public var connections: [OriginConnections] {
        get async {
            var origins: [OriginConnections] = []
            for lane in core.lanes.all { origins += await lane.connectionSnapshot }
            return origins.sorted { ($0.host, $0.port, $0.scheme) < ($1.host, $1.port, $1.scheme) }
        }
    }
}
