import CCurlNetworkingLibcurl

/// Options for a connection on which we speak the protocol ourselves: see `Channel`.
package struct ChannelOptions: EasyOptions, Sendable {
    /// The protocol that TLS offers the server (RFC 7301).
    package enum ApplicationProtocol: Sendable {
        case http1
        /// The extension isn't sent.
        case none
    }

    /// With the scheme http or https, which says whether the connection uses TLS. Without user name and password.
    package var url: String
    package var applicationProtocol: ApplicationProtocol
    /// How long all attempts to connect may take together, including name lookup and TLS. nil for libcurl's default, five minutes.
    package var connectTimeout: Duration?
    /// nil for the defaults.
    package var connection: ConnectionProfile?
    package var connections: ConnectionGroup?
    /// Decides about the TLS handshake; nil for libcurl's verification alone.
    package var inquiry: HandshakeInquiry?
    /// Whether there is neither TLS nor a proxy between this side and the server.
    package var isPlain = false
    package var proxy = ProxyUse()

    package init(url: String, _ applicationProtocol: ApplicationProtocol) {
        self.url = url
        self.applicationProtocol = applicationProtocol
    }

    package var protocols: Int { Int(CURLPROTO_HTTP) | Int(CURLPROTO_HTTPS) }
    package var mayUseTLS: Bool { url.prefix(6).lowercased() == "https:" }
    package var sendsBody: Bool { false }
    package var opensChannel: Bool { true }
    package var credentials: (user: String, password: String)? { nil }

    /// The most that `curl_easy_recv` returns at once, in bytes.
    package static let maximumReceivedAtOnce = 64 * 1024
    package var receiveBufferSize: Int { Self.maximumReceivedAtOnce }

    package func applyDefaults(to easy: EasyHandle) throws(TransferFailure) {
        if let connectTimeout { try easy.setConnectTimeout(connectTimeout) }
    }

    package func applyOwn(to easy: EasyHandle) throws(TransferFailure) {
        try easy.set(CURLOPT_CONNECT_ONLY, 1)
        try easy.set(CURLOPT_FRESH_CONNECT, true)
        try applyFixed(to: easy)
        try proxy.apply(to: easy)
        try inquiry?.apply(to: easy)
    }

    package func applyFixed(to easy: EasyHandle) throws(TransferFailure) {
        // Otherwise the server would be offered HTTP/2, which we don't speak.
        try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        if case .none = applicationProtocol { try easy.set(CURLOPT_SSL_ENABLE_ALPN, false) }
        // Otherwise libcurl would count itself connected once it had reached the proxy.
        try easy.set(CURLOPT_HTTPPROXYTUNNEL, true)
    }
}
