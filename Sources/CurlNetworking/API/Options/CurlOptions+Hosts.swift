import Foundation

extension CurlOptions {
    /// Options for one host, or for those that a pattern matches, instead of the session's. A value that is nil is taken from the next
    /// pattern that matches the host, then from the session.
    public struct HostOptions: Sendable, Codable {
        /// How many connections may be open at once, instead of
        /// ``URLSessionConfiguration/httpMaximumConnectionsPerHost``; at least 1.
        public var maximumConnections: Int?

        /// How the host's name is resolved, and what connections to it are bound to.
        public var names = Names()

        /// Instead of ``CurlOptions/httpVersion``.
        public var httpVersion: HTTPVersion?

        /// Instead of ``CurlOptions/connections``, value by value.
        public var connections = ConnectionOptions()

        /// Instead of ``CurlOptions/tls``, as a whole.
        public var tls: TLSOptions?

        /// The public keys that the server may have, each as `sha256//` and the base64 of the SHA-256 of its SubjectPublicKeyInfo. With
        /// any other key, tasks fail with `URLError.serverCertificateUntrusted`, even if a delegate accepts the certificate.
        ///
        /// Source: [CURLOPT_PINNEDPUBLICKEY](https://curl.se/libcurl/c/CURLOPT_PINNEDPUBLICKEY.html).
        public var publicKeyPins: [String]?

        /// Whether any certificate is accepted: then anyone between this machine and the server can impersonate it.
        ///
        /// For servers on your own machine. Creating the session writes a line to standard error for each entry that sets this. No delegate
        /// is asked about such a server. Source: [CURLOPT_SSL_VERIFYPEER](https://curl.se/libcurl/c/CURLOPT_SSL_VERIFYPEER.html).
        public var trustsAnyCertificate: Bool?

        /// The proxy for requests, instead of ``CurlOptions/proxy``.
        public var proxy: Proxy?

        /// Options that are all nil.
        public init() {}
    }

    /// Options by host. The subscript takes these patterns; earlier ones in this list take precedence:
    ///
    /// - `"api.example.com:8443"`: one host and port, whatever the scheme;
    /// - `"api.example.com"`: one host at any port;
    /// - `"*.example.com:8443"` and `"*.example.com"`: every host below a domain, but not the domain itself; longer domains first;
    /// - `"*:8443"` and `"*"`: all hosts.
    ///
    /// Case doesn't matter, nor does a dot at the end: `"api.example.com"` and `"api.example.com."` name the same hosts. Of two such
    /// patterns, the first in alphabetical order takes precedence. IPv6 addresses are written in brackets, and internationalised names in
    /// either form (RFC 5891). A pattern of any other form makes ``CurlOptions/validate()`` throw.
    ///
    /// Nor does the spelling of a host in a URL: an entry for `"127.0.0.1"` is also for `127.1`, `2130706433` and
    /// `[::ffff:127.0.0.1]`, one for `"[::1]"` for `[0:0:0:0:0:0:0:1]` and for the address in any zone, and one for a
    /// name for its percent-encoded forms. But no name is looked up: an entry for an address isn't for the names that
    /// have it. Addresses have no domains: `"*.0.0.1"` is no pattern.
    public struct HostTable: Sendable, Codable {
        private(set) var optionsByPattern: [String: HostOptions] = [:]

        /// A table without entries.
        public init() {}

        /// The options of `pattern`; all nil if it has no entry.
        public subscript(pattern: String) -> HostOptions {
            get { optionsByPattern[pattern] ?? HostOptions() }
            set { optionsByPattern[pattern] = newValue }
        }

        /// The patterns that have an entry, in no order.
        public var patterns: [String] { Array(optionsByPattern.keys) }
    }
}
