import Foundation

extension CurlOptions {
    /// What holds for one host, or for those that one pattern names, instead of the session's own values. nil leaves a value
    /// to the next pattern that names the host, and at last to the session.
    public struct HostOptions: Sendable {
        /// How many connections may be open at once, instead of
        /// ``URLSessionConfiguration/httpMaximumConnectionsPerHost``; at least 1.
        public var maximumConnections: Int?

        /// How the host is found, and from where it is connected to.
        public var names = Names()

        /// Instead of ``CurlOptions/httpVersion``.
        public var httpVersion: HTTPVersion?

        /// Instead of the same in ``CurlOptions/connections``, value by value.
        public var connections = ConnectionOptions()

        /// TLS with this host, all of it, instead of ``CurlOptions/tls``.
        public var tls: TLSOptions?

        /// The public keys that the server may have, each as `sha256//` and the base64 of the SHA-256 of its
        /// SubjectPublicKeyInfo; any other fails with `URLError.serverCertificateUntrusted`, even if a delegate accepts it.
        ///
        /// Source: [CURLOPT_PINNEDPUBLICKEY](https://curl.se/libcurl/c/CURLOPT_PINNEDPUBLICKEY.html).
        public var publicKeyPins: [String]?

        /// Whether the server may show any certificate whatsoever: then anybody between here and there can answer in its name.
        ///
        /// For servers on one's own desk. Creating the session writes a line to standard error for each entry that sets this. No
        /// delegate is asked about such a server. Source:
        /// [CURLOPT_SSL_VERIFYPEER](https://curl.se/libcurl/c/CURLOPT_SSL_VERIFYPEER.html).
        public var trustsAnyCertificate: Bool?

        /// Which proxy requests go through, instead of ``CurlOptions/proxy``.
        public var proxy: Proxy?

        /// Nothing of its own.
        public init() {}
    }

    /// Options by host. The subscript takes these patterns, and the earlier ones of this list have the last word:
    ///
    /// - `"api.example.com:8443"`: one host and port, whatever the scheme;
    /// - `"api.example.com"`: one host at any port;
    /// - `"*.example.com:8443"` and `"*.example.com"`: every host below a domain, but not the domain; the longer domain first;
    /// - `"*:8443"` and `"*"`: all hosts.
    ///
    /// Names are compared without regard to case, IPv6 addresses are written in brackets, and names of other alphabets may be
    /// written in either form (RFC 5891). A pattern of another form fails ``CurlOptions/validate()``.
    public struct HostTable: Sendable {
        private(set) var optionsByPattern: [String: HostOptions] = [:]

        /// A table without entries.
        public init() {}

        /// The options of `pattern`; without an entry, all nil.
        public subscript(pattern: String) -> HostOptions {
            get { optionsByPattern[pattern] ?? HostOptions() }
            set { optionsByPattern[pattern] = newValue }
        }

        /// The patterns that have an entry, in no order.
        public var patterns: [String] { Array(optionsByPattern.keys) }
    }
}
