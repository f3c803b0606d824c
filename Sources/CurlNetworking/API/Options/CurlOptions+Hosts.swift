import Foundation

extension CurlOptions {
    /// Options for one host, or for all hosts that match a pattern, in place of the session's. A nil value is inherited from the next
    /// pattern that matches the host, then from the session.
    public struct HostOptions: Sendable, Codable {
        /// The maximum number of open connections, at least 1. Overrides
        /// ``URLSessionConfiguration/httpMaximumConnectionsPerHost``.
        public var maximumConnections: Int?

        /// Options for resolving the host's name and binding connections to it.
        public var names = Names()

        /// Overrides ``CurlOptions/httpVersion``.
        public var httpVersion: HTTPVersion?

        /// Overrides ``CurlOptions/connections``, value by value.
        public var connections = ConnectionOptions()

        /// Overrides ``CurlOptions/tls`` as a whole.
        public var tls: TLSOptions?

        /// The public keys that the server may present, each as `sha256//` and the base64 of the SHA-256 of its SubjectPublicKeyInfo. With
        /// any other key, tasks fail with `URLError.serverCertificateUntrusted`, even if a delegate accepts the certificate.
        ///
        /// Source: [CURLOPT_PINNEDPUBLICKEY](https://curl.se/libcurl/c/CURLOPT_PINNEDPUBLICKEY.html).
        public var publicKeyPins: [String]?

        /// Whether any certificate is accepted; if so, anyone between this machine and the server can impersonate it.
        ///
        /// Meant for servers on your own machine. Creating the session writes a line to standard error for each entry that sets this. No
        /// delegate is asked about such a server. Source: [CURLOPT_SSL_VERIFYPEER](https://curl.se/libcurl/c/CURLOPT_SSL_VERIFYPEER.html).
        public var trustsAnyCertificate: Bool?

        /// Overrides ``CurlOptions/proxy``.
        public var proxy: Proxy?

        /// Creates options that are all nil.
        public init() {}
    }

    /// Options by host. The subscript takes these patterns, in order of precedence:
    ///
    /// - `"api.example.com:8443"`: one host and port, whatever the scheme;
    /// - `"api.example.com"`: one host at any port;
    /// - `"*.example.com:8443"` and `"*.example.com"`: every host below a domain, but not the domain itself; longer domains first;
    /// - `"*:8443"` and `"*"`: all hosts.
    ///
    /// Case and a trailing dot don't matter: `"api.example.com"` and `"api.example.com."` name the same hosts. Of two equivalent patterns,
    /// the first in alphabetical order takes precedence. IPv6 addresses are written in brackets, and internationalised names in either form
    /// (RFC 5891). A pattern of any other form makes ``CurlOptions/validate()`` throw.
    ///
    /// Nor does a host's spelling in a URL: an entry for `"127.0.0.1"` also applies to `127.1`, `2130706433` and
    /// `[::ffff:127.0.0.1]`, one for `"[::1]"` to `[0:0:0:0:0:0:0:1]` and to the address in any zone, and one for
    /// a name to its percent-encoded forms. But names aren't looked up: an entry for an address doesn't apply to
    /// names that resolve to it. Addresses have no domains: `"*.0.0.1"` isn't a pattern.
    public struct HostTable: Sendable, Codable {
        private(set) var optionsByPattern: [String: HostOptions] = [:]

        /// Creates a table without entries.
        public init() {}

        /// The options for `pattern`; all nil if it has no entry.
        public subscript(pattern: String) -> HostOptions {
            get { optionsByPattern[pattern] ?? HostOptions() }
            set { optionsByPattern[pattern] = newValue }
        }

        /// The patterns that have an entry, in no particular order.
        public var patterns: [String] { Array(optionsByPattern.keys) }
    }
}
