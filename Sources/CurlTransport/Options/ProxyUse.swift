import CCurlNetworkingLibcurl

/// What a request tells the proxy on its way.
package struct ProxyUse: Sendable {
    /// Where an HTTP proxy's tunnel leads.
    package struct Tunnel: Sendable {
        /// The URL's.
        let port: Int
        /// Host and port, where they aren't the URL's.
        let connectTo: String?

        package init(port: Int, connectTo: String? = nil) {
            (self.port, self.connectTo) = (port, connectTo)
        }
    }

    /// The request goes through this tunnel; the handler is given the proxy's response. nil for none.
    package var tunnel: Tunnel?
    package var usesTunnel: Bool { tunnel != nil }
    /// Header lines for the proxy alone, sent with CONNECT.
    package var tunnelHeaders: [String] = []
    /// Sent to an HTTP proxy only.
    package var authentication: ProxyAuthentication?

    package init() {}

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        if usesTunnel {
            easy.tunnelResponse.isReported = true
            try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, false)
            try easy.set(CURLOPT_PROXYHEADER, list: tunnelHeaders)
        }
        try authentication?.apply(to: easy)
    }
}
