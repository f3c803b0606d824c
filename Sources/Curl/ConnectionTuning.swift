import CLibcurl

/// How long connections live, how they are made and kept, and how fast they may be. nil leaves an option at libcurl's default,
/// or at what the transfer's own options say.
package struct ConnectionTuning: ConnectionSettings, Equatable {
    package struct KeepAlive: Sendable, Equatable {
        package var idle: Duration
        package var interval: Duration
        /// libcurl 8.9 and newer.
        package var count: Int?

        package init(idle: Duration, interval: Duration, count: Int?) {
            (self.idle, self.interval, self.count) = (idle, interval, count)
        }
    }

    package struct LowSpeed: Sendable, Equatable {
        package var bytesPerSecond: Int
        package var duration: Duration

        package init(bytesPerSecond: Int, duration: Duration) {
            (self.bytesPerSecond, self.duration) = (bytesPerSecond, duration)
        }
    }

    package var idleLifetime: Duration?
    package var lifetime: Duration?
    package var keepAlive: KeepAlive?
    package var usesNoDelay: Bool?
    package var receiveBufferSize: Int?
    package var sendBufferSize: Int?
    package var connectTimeout: Duration?
    package var happyEyeballsDelay: Duration?
    package var maximumReceiveRate: Int?
    package var maximumSendRate: Int?
    package var lowSpeed: LowSpeed?

    package init() {}

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try applyLifetimes(to: easy)
        if let usesNoDelay { try easy.set(CURLOPT_TCP_NODELAY, usesNoDelay) }
        if let receiveBufferSize { try easy.set(CURLOPT_BUFFERSIZE, receiveBufferSize) }
        if let sendBufferSize, easy.sendsBody { try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, sendBufferSize) }
        if let connectTimeout { try easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout.milliseconds) }
        if let happyEyeballsDelay { try easy.set(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, happyEyeballsDelay.milliseconds) }
        if let maximumReceiveRate { try easy.set(CURLOPT_MAX_RECV_SPEED_LARGE, offset: Int64(maximumReceiveRate)) }
        if let maximumSendRate { try easy.set(CURLOPT_MAX_SEND_SPEED_LARGE, offset: Int64(maximumSendRate)) }
        if let lowSpeed {
            try easy.set(CURLOPT_LOW_SPEED_LIMIT, lowSpeed.bytesPerSecond)
            try easy.set(CURLOPT_LOW_SPEED_TIME, lowSpeed.duration.wholeSeconds)
        }
    }

    private func applyLifetimes(to easy: EasyHandle) throws(TransferFailure) {
        if let idleLifetime { try easy.set(CURLOPT_MAXAGE_CONN, idleLifetime.wholeSeconds) }
        if let lifetime { try easy.set(CURLoption(UInt32(CLIBCURL_OPT_MAXLIFETIME_CONN)), lifetime.wholeSeconds) }
        guard let keepAlive else { return }
        try easy.set(CURLOPT_TCP_KEEPALIVE, true)
        try easy.set(CURLOPT_TCP_KEEPIDLE, keepAlive.idle.wholeSeconds)
        try easy.set(CURLOPT_TCP_KEEPINTVL, keepAlive.interval.wholeSeconds)
        if let count = keepAlive.count { try easy.set(CURLoption(UInt32(CLIBCURL_OPT_TCP_KEEPCNT)), count) }
    }
}

/// Which versions of HTTP the connections to an origin may speak.
package struct HTTPVersionSetting: ConnectionSettings, Equatable {
    package enum Choice: Sendable, Equatable {
        case http1
        /// Without TLS, and without asking the server first.
        case http2PriorKnowledge
        case http3
    }

    package let choice: Choice

    package init(_ choice: Choice) {
        self.choice = choice
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        switch choice {
        case .http1: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        case .http3: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_3)
        }
    }
}

extension Duration {
    /// Rounded up, and at least 1, which libcurl takes for a number where 0 would be its default.
    var milliseconds: Int { atLeastOne(self / .milliseconds(1)) }

    /// The same in seconds.
    var wholeSeconds: Int { atLeastOne(self / .seconds(1)) }

    private func atLeastOne(_ count: Double) -> Int {
        Int(min(max(1, count), Double(Int32.max)).rounded(.up))
    }
}
