import Foundation

extension CurlOptions {
    /// How hosts are found, and from where they are connected to. What holds for some hosts alone is set in their
    /// ``CurlOptions/HostOptions/names``. See <doc:NamesAndSockets>.
    public struct Names: Sendable {
        /// How long an address that was looked up is used again, for new connections; the default is 60 s.
        ///
        /// Whole seconds: a fraction counts as one. Zero looks the name up for each new connection; what is longer than 68 years
        /// never ends. The system's resolver may keep addresses on its own. libcurl:
        /// [CURLOPT_DNS_CACHE_TIMEOUT](https://curl.se/libcurl/c/CURLOPT_DNS_CACHE_TIMEOUT.html).
        public var cacheLifetime: Duration = .seconds(60)

        /// The DNS servers to ask instead of the system's, by their addresses; port 53 where none is given.
        ///
        /// Needs a libcurl that was built with c-ares, which Debian's and Ubuntu's are not: with another, ``CurlOptions/validate()``
        /// throws. libcurl: [CURLOPT_DNS_SERVERS](https://curl.se/libcurl/c/CURLOPT_DNS_SERVERS.html).
        public var servers: [Endpoint] = []

        /// The https URL of a server that is asked for names over HTTPS (RFC 8484) instead of the system's resolver.
        ///
        /// The server's own name is looked up by the system; its certificate is verified. libcurl:
        /// [CURLOPT_DOH_URL](https://curl.se/libcurl/c/CURLOPT_DOH_URL.html).
        public var dnsOverHTTPS: URL?

        /// Which addresses of a host are used; the default is all, in the order of RFC 8305 (happy eyeballs).
        public var ipVersion = IPVersion.any

        /// The Unix domain socket that every http and https request of the session goes to, whatever its URL's host; nil for none.
        public var unixSocket: UnixSocket?

        /// From where connections are made; nil leaves it to the system.
        public var localEnd: LocalEnd?

        /// The defaults.
        public init() {}
    }

    /// Which addresses of a host are used. libcurl: [CURLOPT_IPRESOLVE](https://curl.se/libcurl/c/CURLOPT_IPRESOLVE.html).
    public enum IPVersion: Sendable, Hashable {
        /// All.
        case any
        /// IPv4 alone.
        case v4
        /// IPv6 alone.
        case v6
    }

    /// A name or address, and a port.
    public struct Endpoint: Sendable, Hashable {
        /// A name, or an address; IPv6 without brackets.
        public var host: String
        /// nil for the one that would be used anyway.
        public var port: Int?

        /// A name or address, and a port.
        public init(_ host: String, port: Int? = nil) {
            self.host = host
            self.port = port
        }
    }

    /// A Unix domain socket of this machine. Its name has 107 bytes at most.
    ///
    /// One request goes to such a socket, without any setting, by the URL `http+unix://%2Frun%2Fapp.sock/path`.
    public enum UnixSocket: Sendable, Hashable {
        /// One in the file system. libcurl:
        /// [CURLOPT_UNIX_SOCKET_PATH](https://curl.se/libcurl/c/CURLOPT_UNIX_SOCKET_PATH.html).
        case path(String)
        /// One in Linux's abstract namespace, without the NUL that its name begins with. libcurl:
        /// [CURLOPT_ABSTRACT_UNIX_SOCKET](https://curl.se/libcurl/c/CURLOPT_ABSTRACT_UNIX_SOCKET.html).
        case abstract(String)
    }

    /// The near end of connections. libcurl: [CURLOPT_INTERFACE](https://curl.se/libcurl/c/CURLOPT_INTERFACE.html),
    /// [CURLOPT_LOCALPORT](https://curl.se/libcurl/c/CURLOPT_LOCALPORT.html) and
    /// [CURLOPT_LOCALPORTRANGE](https://curl.se/libcurl/c/CURLOPT_LOCALPORTRANGE.html).
    public enum LocalEnd: Sendable, Hashable {
        /// A network interface by its name, such as `"eth0"`. It may need privileges, which the kernel decides; without
        /// them libcurl binds to the interface's address.
        case interface(String)
        /// An address of this machine, and the first free one of these ports where they are given.
        case address(String, ports: ClosedRange<Int>? = nil)
        /// The first free one of these ports, whatever the address. A port stays taken for a while after its connection's end:
        /// the range limits how often a host can be connected to.
        case ports(ClosedRange<Int>)
    }
}

extension CurlOptions.HostOptions {
    /// How one host is found, instead of the session's ``CurlOptions/names``; what is nil is left to the next pattern.
    public struct Names: Sendable {
        /// The host's addresses, which then is not looked up; like curl's `--resolve`. IPv6 without brackets.
        ///
        /// They are tried in this order. They are of the name that is looked up, which is another with ``connectTo``. libcurl:
        /// [CURLOPT_RESOLVE](https://curl.se/libcurl/c/CURLOPT_RESOLVE.html).
        public var addresses: [String]?

        /// Where to connect to instead of the URL's host and port; like curl's `--connect-to`.
        ///
        /// Request, cookies and the certificate's name remain the URL's host's. libcurl:
        /// [CURLOPT_CONNECT_TO](https://curl.se/libcurl/c/CURLOPT_CONNECT_TO.html).
        public var connectTo: CurlOptions.Endpoint?

        /// Instead of ``CurlOptions/Names/ipVersion``.
        public var ipVersion: CurlOptions.IPVersion?

        /// Instead of ``CurlOptions/Names/unixSocket``.
        public var unixSocket: CurlOptions.UnixSocket?

        /// Instead of ``CurlOptions/Names/localEnd``.
        public var localEnd: CurlOptions.LocalEnd?

        /// Nothing of its own.
        public init() {}
    }
}
