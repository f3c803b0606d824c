import CCurlNetworkingLibcurl

/// The proxy for an origin's connections.
package struct ProxySettings: ConnectionSettings, Equatable {
    /// Scheme, host and port.
    package var url: String
    /// Whether plain HTTP is tunnelled, too.
    package var alwaysTunnels = false
    /// A PEM file of authorities trusted for the proxy; nil for those of a `ProxyTrust`, or else the system's.
    package var authorities: String?
    /// Sent with every connection.
    package var authentication: ProxyAuthentication?

    package init(url: String) {
        self.url = url
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.set(CURLOPT_PROXY, url)
        easy.traits.usesProxy = true
        try easy.prepareForProxy(isSecure: url.hasPrefix("https:"), hasAuthorities: authorities != nil)
        if easy.tls.hasSecureProxy { try easy.set(CURLOPT_PROXY_SSLVERSION, TLSSettings.defaultVersions) }
        if url.hasPrefix("http") {
            // Whether there will be a tunnel depends on the server's scheme, too.
            try TunnelResponse.limit(on: easy)
        } else {
            // By default libcurl also offers SOCKS 5 proxies GSS-API: it would show them the process's Kerberos ticket, and block the loop.
            try easy.set(CURLOPT_SOCKS5_AUTH, CLIBCURL_AUTH_BASIC)
        }
        if alwaysTunnels { try easy.set(CURLOPT_HTTPPROXYTUNNEL, true) }
        if let authorities {
            try easy.set(CURLOPT_PROXY_CAINFO, authorities)
            try easy.clearAuthorityDirectory(for: .proxy)
        } else if CurlLibrary.hasCAFile, url.hasPrefix("https:") {
            // See `EasyOptions`, which does the same for servers.
            try easy.clearAuthorityDirectory(for: .proxy)
        }
        try authentication?.apply(to: easy)
    }
}

/// User name and password for a proxy, and the scheme by which libcurl sends them.
package struct ProxyAuthentication: Sendable, Equatable {
    package enum Scheme: Sendable {
        /// With every request, or every tunnel, unless a header line for the proxy has a credential (RFC 7617).
        case basic
        /// Authenticates the connection.
        case ntlm
        /// The best scheme that the proxy offers in its challenge.
        case any
    }

    package var scheme: Scheme
    package var user: String
    package var password: String

    package init(_ scheme: Scheme, user: String, password: String) {
        self.scheme = scheme
        self.user = user
        self.password = password
    }

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.set(CURLOPT_PROXYUSERNAME, user)
        try easy.set(CURLOPT_PROXYPASSWORD, password)
        let any = CLIBCURL_AUTH_BASIC | CLIBCURL_AUTH_DIGEST | (CurlLibrary.hasNTLM ? CLIBCURL_AUTH_NTLM : 0)
        switch scheme {
        case .basic: try easy.set(CURLOPT_PROXYAUTH, CLIBCURL_AUTH_BASIC)
        case .ntlm:
            try easy.set(CURLOPT_PROXYAUTH, CLIBCURL_AUTH_NTLM)
            try NTLMCredentials(user: user, password: password)
                .apply(to: easy, user: CURLOPT_PROXYUSERNAME, password: CURLOPT_PROXYPASSWORD)
        case .any: try easy.set(CURLOPT_PROXYAUTH, any)
        }
    }
}

/// Why a SOCKS proxy made no connection, as far as we distinguish the reasons.
package enum ProxyFailure: Sendable, Hashable {
    /// It requires authentication, or rejected ours.
    case authentication
    /// It can't resolve the host.
    case hostNotFound
    /// It closed the connection.
    case connectionLost
    /// It doesn't make such connections.
    case refused
    case other

    /// https://curl.se/libcurl/c/CURLINFO_PROXY_ERROR.html
    package init(_ code: Int) {
        switch UInt32(truncatingIfNeeded: code) {
        case CURLPX_NO_AUTH.rawValue, CURLPX_USER_REJECTED.rawValue, CURLPX_IDENTD.rawValue,
            CURLPX_IDENTD_DIFFER.rawValue, CURLPX_GSSAPI.rawValue, CURLPX_GSSAPI_PERMSG.rawValue:
            self = .authentication
        case CURLPX_RESOLVE_HOST.rawValue:
            self = .hostNotFound
        case CURLPX_CLOSED.rawValue, CURLPX_RECV_ADDRESS.rawValue, CURLPX_RECV_AUTH.rawValue,
            CURLPX_RECV_CONNECT.rawValue, CURLPX_RECV_REQACK.rawValue, CURLPX_SEND_AUTH.rawValue,
            CURLPX_SEND_CONNECT.rawValue, CURLPX_SEND_REQUEST.rawValue:
            self = .connectionLost
        case CURLPX_REPLY_NOT_ALLOWED.rawValue, CURLPX_REPLY_COMMAND_NOT_SUPPORTED.rawValue,
            CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED.rawValue, CURLPX_BAD_ADDRESS_TYPE.rawValue,
            CURLPX_LONG_HOSTNAME.rawValue:
            self = .refused
        default:
            self = .other
        }
    }
}
