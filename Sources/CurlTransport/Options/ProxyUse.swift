import CCurlNetworkingLibcurl

/// What a request tells the proxy on its way.
package struct ProxyUse: Sendable {
    /// The request goes through an HTTP proxy's tunnel; the handler is given the proxy's response.
    package var usesTunnel = false
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
