import Foundation

extension CurlOptions {
    /// Options for resolving names and binding connections. To set them for some hosts only, use
    /// ``CurlOptions/HostOptions/names``. See <doc:NamesAndSockets>.
    public struct Names: Sendable, Codable {
        /// How long a resolved address is used for new connections; the default is 60 s.
        ///
        /// In whole seconds, rounded up. Zero resolves the name for each new connection; a value above 68 years means forever. The system's
        /// resolver may cache addresses too. Source: [CURLOPT_DNS_CACHE_TIMEOUT](https://curl.se/libcurl/c/CURLOPT_DNS_CACHE_TIMEOUT.html).
        public var cacheLifetime: Duration = .seconds(60)

        /// The addresses of the DNS servers to query instead of the system's; the default port is 53.
        ///
        /// Needs a libcurl built with c-ares, unlike Debian's and Ubuntu's; with any other, ``CurlOptions/validate()`` throws. Source:
        /// [CURLOPT_DNS_SERVERS](https://curl.se/libcurl/c/CURLOPT_DNS_SERVERS.html).
        public var servers: [Endpoint] = []

        /// The https URL of a server that resolves names over HTTPS (RFC 8484) instead of the system's resolver.
        ///
        /// The server's own name is resolved by the system; its certificate is verified. Source:
        /// [CURLOPT_DOH_URL](https://curl.se/libcurl/c/CURLOPT_DOH_URL.html).
        public var dnsOverHTTPS: URL?

        /// The addresses of a host to use; the default is all of them, in the order of RFC 8305 (happy eyeballs).
        public var ipVersion = IPVersion.any

        /// The Unix domain socket that every http and https request of the session goes to, whatever its URL's host; nil for none.
        public var unixSocket: UnixSocket?

        /// The local end to bind connections to; nil leaves it to the system.
        public var localEnd: LocalEnd?

        /// Creates the default options.
        public init() {}
    }

    /// The addresses of a host to use. Source: [CURLOPT_IPRESOLVE](https://curl.se/libcurl/c/CURLOPT_IPRESOLVE.html).
    public enum IPVersion: Sendable, Hashable, Codable {
        /// All addresses.
        case any
        /// IPv4 only.
        case v4
        /// IPv6 only.
        case v6
    }

    /// A name or address, and a port.
    public struct Endpoint: Sendable, Hashable, Codable {
        /// The name or address; IPv6 without brackets.
        public var host: String
        /// The port; nil for the default or the URL's own.
        public var port: Int?

        /// Creates an endpoint.
        public init(_ host: String, port: Int? = nil) {
            self.host = host
            self.port = port
        }
    }

    /// A Unix domain socket on this machine. Its name has at most 107 bytes.
    ///
    /// A single request can name its socket in its URL, without this option: `http+unix://%2Frun%2Fapp.sock/path`.
    public enum UnixSocket: Sendable, Hashable, Codable {
        /// A socket in the file system. Source:
        /// [CURLOPT_UNIX_SOCKET_PATH](https://curl.se/libcurl/c/CURLOPT_UNIX_SOCKET_PATH.html).
        case path(String)
        /// A socket in Linux's abstract namespace; its name has no leading NUL. Source:
        /// [CURLOPT_ABSTRACT_UNIX_SOCKET](https://curl.se/libcurl/c/CURLOPT_ABSTRACT_UNIX_SOCKET.html).
        case abstract(String)

        /// Whether both are the same socket to the system, which compares the bytes of their names.
        public static func == (a: Self, b: Self) -> Bool {
            switch (a, b) {
            case (.path(let a), .path(let b)), (.abstract(let a), .abstract(let b)): a.hasSameBytes(as: b)
            case (.path, .abstract), (.abstract, .path): false
            }
        }
    }

    /// The local end that connections are bound to. Source: [CURLOPT_INTERFACE](https://curl.se/libcurl/c/CURLOPT_INTERFACE.html),
    /// [CURLOPT_LOCALPORT](https://curl.se/libcurl/c/CURLOPT_LOCALPORT.html) and
    /// [CURLOPT_LOCALPORTRANGE](https://curl.se/libcurl/c/CURLOPT_LOCALPORTRANGE.html).
    public enum LocalEnd: Sendable, Hashable, Codable {
        /// A network interface by name, such as `"eth0"`. The kernel may require privileges; without them, libcurl binds to the interface's
        /// address.
        case interface(String)
        /// A local address and, if `ports` are given, the first of them that is free.
        case address(String, ports: ClosedRange<Int>? = nil)
        /// The first of these ports that is free, on any address. A port stays in use for some time after its connection is closed, so the
        /// range limits the rate of new connections to a host.
        case ports(ClosedRange<Int>)
    }
}

extension CurlOptions.HostOptions {
    /// Options that override ``CurlOptions/names`` for a host. A nil value is inherited from the next pattern.
    public struct Names: Sendable, Codable {
        /// The host's addresses, used instead of resolving its name, even if the host is a proxy; like curl's `--resolve`. IPv6 without
        /// brackets.
        ///
        /// They are tried in this order. With ``connectTo``, the host named there is looked up instead, in its own entry; addresses in this
        /// one are then an error, unless its pattern matches that host, too. Source:
        /// [CURLOPT_RESOLVE](https://curl.se/libcurl/c/CURLOPT_RESOLVE.html).
        public var addresses: [String]?

        /// The host and port to connect to instead of the URL's; like curl's `--connect-to`.
        ///
        /// The request, its cookies and the name in the certificate are still those of the URL's host. Source:
        /// [CURLOPT_CONNECT_TO](https://curl.se/libcurl/c/CURLOPT_CONNECT_TO.html).
        public var connectTo: CurlOptions.Endpoint?

        /// Overrides ``CurlOptions/Names/ipVersion``.
        public var ipVersion: CurlOptions.IPVersion?

        /// Overrides ``CurlOptions/Names/unixSocket``.
        public var unixSocket: CurlOptions.UnixSocket?

        /// Overrides ``CurlOptions/Names/localEnd``.
        public var localEnd: CurlOptions.LocalEnd?

        /// Creates options that are all nil.
        public init() {}
    }
}
