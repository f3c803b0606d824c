import CurlTransport

extension CurlOptions {
    /// Options for opening and keeping connections and limiting transfer speeds, for a whole session or, in ``CurlOptions/HostOptions``,
    /// for some hosts. A nil value is inherited from the next pattern that matches the host, then from the session, then from the default.
    ///
    /// See <doc:TuningConnections>. Not used with FTP.
    public struct ConnectionOptions: Sendable, Codable {
        /// Probes on a silent connection that detect a dead peer; see ``keepAliveProbes``.
        public struct KeepAliveProbes: Sendable, Hashable, Codable {
            /// How long a connection is silent before the first probe, in whole seconds. The default is 60 seconds. Source:
            /// [CURLOPT_TCP_KEEPIDLE](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPIDLE.html).
            public var idle: Duration
            /// The time between probes, in whole seconds. The default is 60 seconds. Source:
            /// [CURLOPT_TCP_KEEPINTVL](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPINTVL.html).
            public var interval: Duration
            /// The number of unanswered probes after which the connection counts as lost; nil for the system's default, usually 9. Needs
            /// libcurl 8.9. Source: [CURLOPT_TCP_KEEPCNT](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPCNT.html).
            public var count: Int?

            /// Creates probes with these times and this count.
            public init(idle: Duration = .seconds(60), interval: Duration = .seconds(60), count: Int? = nil) {
                (self.idle, self.interval, self.count) = (idle, interval, count)
            }
        }

        /// A minimum speed, and how long a transfer may stay below it; see ``lowSpeedLimit``.
        public struct LowSpeedLimit: Sendable, Hashable, Codable {
            /// The minimum average speed.
            public var bytesPerSecond: Int
            /// How long a transfer may stay below that speed, in whole seconds.
            public var duration: Duration

            /// Creates a limit for transfers that stay below `bytesPerSecond` for `duration`.
            public init(bytesPerSecond: Int, duration: Duration) {
                (self.bytesPerSecond, self.duration) = (bytesPerSecond, duration)
            }
        }

        /// How long a connection may be idle and still be reused, in whole seconds. The default is 118 seconds.
        ///
        /// A connection that has been idle for longer is closed when the session next looks for one; all are closed once the session itself
        /// has been idle for that long. Source: [CURLOPT_MAXAGE_CONN](https://curl.se/libcurl/c/CURLOPT_MAXAGE_CONN.html).
        public var idleLifetime: Duration?

        /// How old a connection may be and still be reused, in whole seconds. The default is no limit. Needs libcurl 7.80.
        ///
        /// Requests in progress are not affected. Source:
        /// [CURLOPT_MAXLIFETIME_CONN](https://curl.se/libcurl/c/CURLOPT_MAXLIFETIME_CONN.html).
        public var lifetime: Duration?

        /// Probes that detect a dead peer. The default is to send none. Source:
        /// [CURLOPT_TCP_KEEPALIVE](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPALIVE.html).
        public var keepAliveProbes: KeepAliveProbes?

        /// Whether small segments are sent at once instead of being coalesced (Nagle's algorithm); the default is true. Source:
        /// [CURLOPT_TCP_NODELAY](https://curl.se/libcurl/c/CURLOPT_TCP_NODELAY.html).
        public var usesNoDelay: Bool?

        /// The maximum number of bytes per read from a connection: 1 KiB to 512 KiB. The default is chosen per transfer: 16 KiB for small
        /// bodies and those that a delegate or reader consumes as they arrive, 256 KiB for large ones and for downloads. With libcurl
        /// before 8.1, it is at least 128 KiB, whatever is set, if the server may speak HTTP/2: libcurl can otherwise miss the end of a
        /// response.
        ///
        /// Up to a hundred such buffers are read before a task that is too fast for its delegate pauses. Source:
        /// [CURLOPT_BUFFERSIZE](https://curl.se/libcurl/c/CURLOPT_BUFFERSIZE.html).
        public var receiveBufferSize: Int?

        /// The maximum number of bytes of an upload per write: 16 KiB to 2 MiB. The default is 256 KiB. Source:
        /// [CURLOPT_UPLOAD_BUFFERSIZE](https://curl.se/libcurl/c/CURLOPT_UPLOAD_BUFFERSIZE.html).
        public var sendBufferSize: Int?

        /// How long connecting may take, including name resolution and TLS, rounded up to whole milliseconds. The default is the
        /// request's time-out, which also caps a longer value. The task fails with `URLError.timedOut`. Source:
        /// [CURLOPT_CONNECTTIMEOUT_MS](https://curl.se/libcurl/c/CURLOPT_CONNECTTIMEOUT_MS.html).
        public var connectTimeout: Duration?

        /// How long a host's IPv6 addresses are tried before its IPv4 ones are tried too (RFC 8305), rounded up to whole milliseconds. The
        /// default is 200 milliseconds. Source:
        /// [CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS](https://curl.se/libcurl/c/CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS.html).
        public var happyEyeballsDelay: Duration?

        /// The maximum average receive rate per task, in bytes per second. The default is no limit. Up to a hundred buffers
        /// (``receiveBufferSize``) can arrive in a burst before libcurl waits; the request's time-out doesn't count that. No effect on web
        /// sockets, stream tasks and requests that offer an `Upgrade`. Source:
        /// [CURLOPT_MAX_RECV_SPEED_LARGE](https://curl.se/libcurl/c/CURLOPT_MAX_RECV_SPEED_LARGE.html).
        public var maximumReceiveRate: Int?

        /// The maximum average send rate per task, in bytes per second. The default is no limit. The request's time-out doesn't count the
        /// time that libcurl waits for this. No effect on web sockets, stream tasks and requests that offer an `Upgrade`. Source:
        /// [CURLOPT_MAX_SEND_SPEED_LARGE](https://curl.se/libcurl/c/CURLOPT_MAX_SEND_SPEED_LARGE.html).
        public var maximumSendRate: Int?

        /// The limit below which a task is too slow and fails with `URLError.timedOut`. The default is no limit. The time that libcurl
        /// waits to keep to a rate counts as slow: with ``maximumReceiveRate`` or ``maximumSendRate``, `duration` should be longer than a
        /// burst takes at that rate. No effect on web sockets, stream tasks and requests that offer an `Upgrade` once they are connected.
        /// Source:
        /// [CURLOPT_LOW_SPEED_LIMIT](https://curl.se/libcurl/c/CURLOPT_LOW_SPEED_LIMIT.html),
        /// [CURLOPT_LOW_SPEED_TIME](https://curl.se/libcurl/c/CURLOPT_LOW_SPEED_TIME.html).
        public var lowSpeedLimit: LowSpeedLimit?

        /// Creates the default options.
        public init() {}
    }

    /// The HTTP versions that connections may use, for a session or, in ``CurlOptions/HostOptions``, for some hosts. Source:
    /// [CURLOPT_HTTP_VERSION](https://curl.se/libcurl/c/CURLOPT_HTTP_VERSION.html).
    public enum HTTPVersion: Sendable, Hashable, Codable {
        /// With TLS, HTTP/2 or HTTP/1.1, whichever the handshake negotiates (ALPN, RFC 7301); without TLS, HTTP/1.1.
        case automatic
        /// HTTP/1.1.
        case http1
        /// Without TLS, HTTP/2 without negotiation (RFC 9113 §3.3): the task fails with `URLError.networkConnectionLost` if the server
        /// doesn't speak it. With TLS, or through an HTTP proxy that forwards requests instead of tunnelling them, the same as
        /// ``automatic``. Needs a libcurl with HTTP/2.
        case http2PriorKnowledge
        /// With TLS, HTTP/3, or an older version if the server doesn't speak it; without TLS the same as ``automatic``. Needs a libcurl
        /// with HTTP/3.
        case http3
    }
}

extension CurlOptions.ConnectionOptions {
    /// libcurl's option for each property. A new property needs a row here, and a line in <doc:TuningConnections>.
    static let table: [ConnectionOption] = [
        ConnectionOption("idleLifetime", \.idleLifetime, .seconds, "MAXAGE_CONN"),
        ConnectionOption("lifetime", \.lifetime, .seconds, "MAXLIFETIME_CONN", since: CurlVersion(7, 80)),
        ConnectionOption("keepAliveProbes", \.keepAliveProbes, .presence, "TCP_KEEPALIVE"),
        ConnectionOption("keepAliveProbes.idle", \.keepAliveProbes, \.idle, .seconds, "TCP_KEEPIDLE"),
        ConnectionOption("keepAliveProbes.interval", \.keepAliveProbes, \.interval, .seconds, "TCP_KEEPINTVL"),
        ConnectionOption(
            "keepAliveProbes.count",
            \.keepAliveProbes,
            \.count,
            .count,
            "TCP_KEEPCNT",
            since: CurlVersion(8, 9)
        ),
        ConnectionOption("usesNoDelay", \.usesNoDelay, .flag, "TCP_NODELAY"),
        ConnectionOption("receiveBufferSize", \.receiveBufferSize, .bytes(1 << 10...512 << 10), "BUFFERSIZE"),
        ConnectionOption(
            "sendBufferSize",
            \.sendBufferSize,
            .bytes(16 << 10...2 << 20),
            "UPLOAD_BUFFERSIZE",
            needsBody: true
        ),
        ConnectionOption("connectTimeout", \.connectTimeout, .milliseconds, "CONNECTTIMEOUT_MS"),
        ConnectionOption("happyEyeballsDelay", \.happyEyeballsDelay, .milliseconds, "HAPPY_EYEBALLS_TIMEOUT_MS"),
        ConnectionOption("maximumReceiveRate", \.maximumReceiveRate, .count, "MAX_RECV_SPEED_LARGE"),
        ConnectionOption("maximumSendRate", \.maximumSendRate, .count, "MAX_SEND_SPEED_LARGE"),
        ConnectionOption("lowSpeedLimit.bytesPerSecond", \.lowSpeedLimit, \.bytesPerSecond, .count, "LOW_SPEED_LIMIT"),
        ConnectionOption("lowSpeedLimit.duration", \.lowSpeedLimit, \.duration, .seconds, "LOW_SPEED_TIME"),
    ]
}
