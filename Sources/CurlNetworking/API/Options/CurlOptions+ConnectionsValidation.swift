import CurlTransport

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
            guard CurlLibrary.hasHTTP2 else { throw CurlOptionsError(name, lacking: "HTTP/2") }
        case .http3:
            guard CurlLibrary.hasHTTP3 else { throw CurlOptionsError(name, lacking: "HTTP/3") }
        }
    }
}

extension CurlOptions.ConnectionOptions {
    func validate(as name: String) throws(CurlOptionsError) {
        for row in Self.table {
            let option = "\(name).\(row.name)"
            if let objection = row.objection(self) { throw CurlOptionsError(option, objection) }
            guard row.number(self) == nil || row.isAvailable else {
                throw CurlOptionsError(option, needs: row.since)
            }
        }
    }
}
