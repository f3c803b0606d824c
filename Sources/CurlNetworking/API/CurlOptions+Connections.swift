extension CurlOptions {
    /// How connections are made and kept, and how fast they may be; for a whole session or, in ``CurlOptions/HostOptions``, for some
    /// hosts. nil leaves a value to the next pattern that names the host, then to the session, and at last to the default.
    ///
    /// See <doc:TuningConnections>. None of it concerns FTP.
    public struct ConnectionOptions: Sendable {
        /// Probes on a connection without traffic, by which a peer that has vanished is noticed; see ``keepAliveProbes``.
        public struct KeepAliveProbes: Sendable, Hashable {
            /// How long a connection is silent before the first probe; whole seconds. The default is 60 seconds. Source:
            /// [CURLOPT_TCP_KEEPIDLE](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPIDLE.html).
            public var idle: Duration
            /// The time between probes; whole seconds. The default is 60 seconds. Source:
            /// [CURLOPT_TCP_KEEPINTVL](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPINTVL.html).
            public var interval: Duration
            /// How many probes go unanswered before the connection counts as lost; nil for the system's number, mostly 9. Needs
            /// libcurl 8.9. Source: [CURLOPT_TCP_KEEPCNT](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPCNT.html).
            public var count: Int?

            /// Probes at these times.
            public init(idle: Duration = .seconds(60), interval: Duration = .seconds(60), count: Int? = nil) {
                (self.idle, self.interval, self.count) = (idle, interval, count)
            }
        }

        /// What is too slow; see ``lowSpeedLimit``.
        public struct LowSpeedLimit: Sendable, Hashable {
            /// The average speed that is still good enough.
            public var bytesPerSecond: Int
            /// For how long a transfer may be slower; whole seconds.
            public var duration: Duration

            /// Slower than `bytesPerSecond` for `duration` is too slow.
            public init(bytesPerSecond: Int, duration: Duration) {
                (self.bytesPerSecond, self.duration) = (bytesPerSecond, duration)
            }
        }

        /// How long a connection may be idle and still be used again; whole seconds. The default is 118 seconds.
        ///
        /// An idle connection that is older is closed when the session next looks for one, and all are when the session has had nothing to
        /// do for so long. Source: [CURLOPT_MAXAGE_CONN](https://curl.se/libcurl/c/CURLOPT_MAXAGE_CONN.html).
        public var idleLifetime: Duration?

        /// How long after it was made a connection may be used again; whole seconds. The default is without limit. Needs libcurl 7.80.
        ///
        /// Requests under way are not disturbed. Source:
        /// [CURLOPT_MAXLIFETIME_CONN](https://curl.se/libcurl/c/CURLOPT_MAXLIFETIME_CONN.html).
        public var lifetime: Duration?

        /// The default is to send none. Source:
        /// [CURLOPT_TCP_KEEPALIVE](https://curl.se/libcurl/c/CURLOPT_TCP_KEEPALIVE.html).
        public var keepAliveProbes: KeepAliveProbes?

        /// Whether small pieces are sent at once instead of being gathered (Nagle's algorithm); the default is true. Source:
        /// [CURLOPT_TCP_NODELAY](https://curl.se/libcurl/c/CURLOPT_TCP_NODELAY.html).
        public var usesNoDelay: Bool?

        /// How many bytes one read from a connection can bring: 1 KiB to 512 KiB. The default is chosen for each transfer: 16 KiB for small
        /// bodies and those that a delegate or reader takes as they come, 256 KiB for large ones and for downloads.
        ///
        /// Up to a hundred such buffers are read before a task that is too fast for its delegate pauses. Source:
        /// [CURLOPT_BUFFERSIZE](https://curl.se/libcurl/c/CURLOPT_BUFFERSIZE.html).
        public var receiveBufferSize: Int?

        /// How many bytes of an upload one write can take along: 16 KiB to 2 MiB. The default is 256 KiB. Source:
        /// [CURLOPT_UPLOAD_BUFFERSIZE](https://curl.se/libcurl/c/CURLOPT_UPLOAD_BUFFERSIZE.html).
        public var sendBufferSize: Int?

        /// How long connecting may take, the look-up of the name and TLS included; a millisecond at least. The default is the request's
        /// time-out, which ends a longer one all the same. The task fails with `URLError.timedOut`. Source:
        /// [CURLOPT_CONNECTTIMEOUT_MS](https://curl.se/libcurl/c/CURLOPT_CONNECTTIMEOUT_MS.html).
        public var connectTimeout: Duration?

        /// How much of a head start a host's IPv6 addresses have over its IPv4 ones (RFC 8305); a millisecond at least. The default is 200
        /// milliseconds. Source:
        /// [CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS](https://curl.se/libcurl/c/CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS.html).
        public var happyEyeballsDelay: Duration?

        /// How many bytes per second each task may receive on average. The default is without limit. Source:
        /// [CURLOPT_MAX_RECV_SPEED_LARGE](https://curl.se/libcurl/c/CURLOPT_MAX_RECV_SPEED_LARGE.html).
        public var maximumReceiveRate: Int?

        /// How many bytes per second each task may send on average. The default is without limit. Source:
        /// [CURLOPT_MAX_SEND_SPEED_LARGE](https://curl.se/libcurl/c/CURLOPT_MAX_SEND_SPEED_LARGE.html).
        public var maximumSendRate: Int?

        /// What is too slow for too long: the task fails with `URLError.timedOut`. The default is that nothing is. Source:
        /// [CURLOPT_LOW_SPEED_LIMIT](https://curl.se/libcurl/c/CURLOPT_LOW_SPEED_LIMIT.html),
        /// [CURLOPT_LOW_SPEED_TIME](https://curl.se/libcurl/c/CURLOPT_LOW_SPEED_TIME.html).
        public var lowSpeedLimit: LowSpeedLimit?

        /// The defaults.
        public init() {}
    }

    /// Which versions of HTTP connections may speak; for a session or, in ``CurlOptions/HostOptions``, for some hosts. Source:
    /// [CURLOPT_HTTP_VERSION](https://curl.se/libcurl/c/CURLOPT_HTTP_VERSION.html).
    public enum HTTPVersion: Sendable, Hashable {
        /// With TLS, HTTP/2 or HTTP/1.1, as both sides agree on in the handshake (ALPN, RFC 7301); without TLS, HTTP/1.1.
        case automatic
        /// HTTP/1.1.
        case http1
        /// Without TLS, HTTP/2 without asking first (RFC 9113 §3.3): a server that doesn't speak it fails the task. With TLS the same as
        /// ``automatic``. Needs a libcurl with HTTP/2.
        case http2PriorKnowledge
        /// With TLS, HTTP/3, or an older version where the server has none; without TLS the same as ``automatic``. Needs a
        /// libcurl with HTTP/3.
        case http3
    }
}
