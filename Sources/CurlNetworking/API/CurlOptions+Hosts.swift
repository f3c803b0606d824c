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
