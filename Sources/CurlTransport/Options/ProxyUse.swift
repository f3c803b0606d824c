import CCurlNetworkingLibcurl

/// What a request tells the proxy on its way.
package struct ProxyUse: Sendable {
    /// The host and port that an HTTP proxy is asked for a tunnel to; the handler is given the proxy's response. nil for no tunnel.
    package var tunnelTarget: String?
    package var usesTunnel: Bool { tunnelTarget != nil }
    /// Header lines for the proxy alone, sent with CONNECT.
    package var tunnelHeaders: [String] = []
    /// Sent to an HTTP proxy only.
    package var authentication: ProxyAuthentication?

    package init() {}

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        if usesTunnel {
            easy.tunnelAnswer.isReported = true
            try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, false)
            try easy.set(CURLOPT_PROXYHEADER, list: tunnelHeaders)
        }
        try authentication?.apply(to: easy)
    }
}
