import Curl

extension CurlOptions {
    func validateConnections() throws(CurlOptionsError) {
        for (name, value) in [
            ("maximumConnections", maximumConnections), ("maximumKeptConnections", maximumKeptConnections),
            ("maximumStreamsPerConnection", maximumStreamsPerConnection),
        ] {
            if let value, value < 1 { throw CurlOptionsError(name, "There must be at least 1.") }
        }
        if !(1...64).contains(eventLoops) { throw CurlOptionsError("eventLoops", "There must be 1 to 64.") }
        try httpVersion.validate(as: "httpVersion")
        try connections.validate(as: "connections")
    }
}

extension CurlOptions.HTTPVersion {
    func validate(as name: String) throws(CurlOptionsError) {
        switch self {
        case .automatic, .http1:
            break
        case .http2PriorKnowledge:
            guard !CurlLibrary.hasHTTP2 else { return }
            throw CurlOptionsError(name, needs: "7.33.0", with: "HTTP/2")
        case .http3:
            guard !CurlLibrary.hasHTTP3 else { return }
            throw CurlOptionsError(name, needs: "7.66.0", with: "HTTP/3")
        }
    }
}

extension CurlOptions.ConnectionOptions {
    func validate(as name: String) throws(CurlOptionsError) {
        for (option, duration) in [
            ("idleLifetime", idleLifetime), ("lifetime", lifetime), ("connectTimeout", connectTimeout),
            ("happyEyeballsDelay", happyEyeballsDelay), ("keepAliveProbes.idle", keepAliveProbes?.idle),
            ("keepAliveProbes.interval", keepAliveProbes?.interval),
            ("lowSpeedLimit.duration", lowSpeedLimit?.duration),
        ] {
            if let duration, duration <= .zero {
                throw CurlOptionsError("\(name).\(option)", "It must be longer than 0.")
            }
        }
        for (option, value, range) in [
            ("maximumReceiveRate", maximumReceiveRate, 1...Int.max), ("maximumSendRate", maximumSendRate, 1...Int.max),
            ("lowSpeedLimit.bytesPerSecond", lowSpeedLimit?.bytesPerSecond, 1...Int.max),
            ("keepAliveProbes.count", keepAliveProbes?.count, 1...Int.max),
            ("receiveBufferSize", receiveBufferSize, 1 << 10...512 << 10),
            ("sendBufferSize", sendBufferSize, 16 << 10...2 << 20),
        ] {
            guard let value, !range.contains(value) else { continue }
            let reason =
                range.upperBound == Int.max
                ? "There must be at least 1." : "It must be \(range.lowerBound) to \(range.upperBound) bytes."
            throw CurlOptionsError("\(name).\(option)", reason)
        }
        if lifetime != nil, !CurlLibrary.isAtLeast(7, 80) {
            throw CurlOptionsError("\(name).lifetime", needs: "7.80.0")
        }
        if keepAliveProbes?.count != nil, !CurlLibrary.isAtLeast(8, 9) {
            throw CurlOptionsError("\(name).keepAliveProbes.count", needs: "8.9.0")
        }
    }
}

extension CurlOptionsError {
    /// The linked libcurl is older than `version`.
    init(_ option: String, needs version: String) {
        self.init(option, "It needs libcurl \(version) or newer; \(CurlLibrary.versionText) is linked.")
    }

    /// The linked libcurl is older than `version`, or was built without `feature`.
    init(_ option: String, needs version: String, with feature: String) {
        let linked = "\(CurlLibrary.versionText), which has none, is linked"
        self.init(option, "It needs libcurl \(version) or newer with \(feature); \(linked).")
    }
}
