import Foundation

extension CurlOptions {
    /// Whether requests go to their host directly or through a proxy. See <doc:Proxies>.
    public enum Proxy: Sendable, Equatable, Codable {
        /// The proxy in ``URLSessionConfiguration/connectionProxyDictionary`` or, if that is nil, in the environment.
        case system
        /// No proxy.
        case direct
        /// This proxy, except for its ``ProxyServer/exceptions``.
        case server(ProxyServer)
    }

    /// A proxy, and the hosts it isn't used for.
    ///
    /// ```swift
    /// var proxy = CurlOptions.ProxyServer(.https, host: "proxy.example.com", port: 3129)
    /// (proxy.user, proxy.password) = ("build", secret)
    /// proxy.exceptions = ["internal.example.com", "10.0.0.0/8"]
    /// configuration.curl.proxy = .server(proxy)
    /// ```
    ///
    /// Encoding includes the password; descriptions don't.
    public struct ProxyServer: Sendable, Hashable, Codable {
        /// The protocol spoken with the proxy.
        public enum Scheme: String, Sendable, CaseIterable, Codable {
            /// HTTP/1.1 without TLS. Requests for http URLs are sent to the proxy itself, all others through a tunnel (CONNECT).
            case http
            /// HTTP/1.1 over TLS; the proxy's certificate is verified. Requests go the same way as with ``http``.
            case https
            /// SOCKS 4: names are resolved locally, and only IPv4 works.
            case socks4
            /// SOCKS 4a: the proxy resolves names.
            case socks4a
            /// SOCKS 5 (RFC 1928): names are resolved locally.
            case socks5
            /// SOCKS 5: the proxy resolves names.
            case socks5h
        }

        /// The protocol spoken with the proxy.
        public var scheme: Scheme
        /// The proxy's name or address; IPv6 with or without brackets.
        public var host: String
        /// The proxy's port, 1 to 65535.
        public var port: Int

        /// The user name; the default is nil, for none. User name and password are sent to an HTTP proxy when it asks for them with Digest,
        /// NTLM or Basic, before a delegate is asked, and to a SOCKS proxy with each connection (SOCKS 4 only the name). They are never
        /// sent anywhere else.
        public var user: String?
        /// The password for ``user``; the default is nil, for an empty one.
        public var password: String?

        /// Hosts that requests are sent to directly. The default is none.
        ///
        /// - `"example.com"` and `".example.com"`: the host and all hosts below it;
        /// - `"*.example.com"`: only the hosts below it; any other asterisk matches any text;
        /// - `"192.0.2.7"`, `"2001:db8::1"`, `"10.0.0.0/8"`, `"10/8"`, `"2001:db8::/32"`: hosts that URLs name by their address;
        /// - each of the names and addresses followed by `":8080"`, IPv6 in brackets: that port only;
        /// - `"<local>"`: names without a dot; `"*"`: everything.
        public var exceptions: [String] = []

        /// Whether requests to names without a dot are sent directly; the default is false.
        public var excludesSimpleHostnames = false

        /// Whether http URLs also go through an HTTP proxy's tunnel; the default is false. Source:
        /// [CURLOPT_HTTPPROXYTUNNEL](https://curl.se/libcurl/c/CURLOPT_HTTPPROXYTUNNEL.html).
        public var alwaysTunnels = false

        /// A PEM file with the certificate authorities to trust for a proxy with the scheme ``Scheme/https``; nil, the default, for the
        /// system's, or those that the environment names in their place (``CurlOptions/TLSOptions/trustRoots``). ``CurlOptions/tls`` applies
        /// only to servers. Source:
        /// [CURLOPT_PROXY_CAINFO](https://curl.se/libcurl/c/CURLOPT_PROXY_CAINFO.html).
        public var certificateAuthorities: URL?

        /// Creates a proxy without credentials or exceptions.
        public init(_ scheme: Scheme = .http, host: String, port: Int) {
            self.scheme = scheme
            self.host = host
            self.port = port
        }

        /// Creates a proxy from the value of an environment variable, such as `http://user:p%40ss@proxy.example.com:3128`. User name and
        /// password are percent-decoded. The default scheme is `http`, the default port 1080, or 443 for `https`. Returns nil for any other
        /// text.
        public init?(_ url: String) {
            guard let server = try? ProxyAddress.server(url) else { return nil }
            self = server
        }
    }
}

extension CurlOptions.ProxyServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The proxy's URL, without user name and password.
    public var description: String { "\(scheme.rawValue)://\(HostSpelling.bracketed(host)):\(port)" }

    /// The same as ``description``, without user name and password.
    public var debugDescription: String { description }

    /// Everything but the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["url": description, "user": user as Any, "exceptions": exceptions])
    }
}

extension CurlOptions.Proxy {
    func validate(as name: String) throws(CurlOptionsError) {
        guard case .server(let server) = self else { return }
        if let reason = ProxyAddress.fault(of: server) { throw CurlOptionsError(name, reason) }
        for text in server.exceptions where ProxyExceptions.Rule(text, namesIncludeSubdomains: true) == nil {
            throw CurlOptionsError("\(name).exceptions", "\(text.debugDescription) isn't a host, address or range.")
        }
        guard let authorities = server.certificateAuthorities else { return }
        guard server.scheme == .https, authorities.isFileURL else {
            throw CurlOptionsError(
                "\(name).certificateAuthorities",
                "They must be in a file, and belong to a proxy of the scheme https."
            )
        }
    }
}
