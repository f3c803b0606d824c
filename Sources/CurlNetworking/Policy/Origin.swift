import Foundation

/// Scheme, host and port of a URL, with the scheme's default port filled in (RFC 6454 §4).
struct Origin: Hashable, Sendable {
    let scheme: String
    /// A name or address in lower case; of a Unix socket, its path or "@" and its abstract name.
    let host: String
    /// 0 for a Unix socket.
    let port: Int

    /// nil unless `url` is an http or https URL with a host, or leads to a Unix socket.
    init?(_ url: URL) {
        self.init(url) { scheme in
            switch scheme {
            case "http": 80
            case "https": 443
            default: UnixSocketURL.transportScheme(of: scheme) == nil ? nil : 0
            }
        }
    }

    /// The same for FTP: nil unless `url` is an ftp or ftps URL with a host.
    static func ofFTP(_ url: URL) -> Origin? {
        Origin(url) { $0 == "ftp" ? 21 : $0 == "ftps" ? 990 : nil }
    }

    private init?(_ url: URL, portOf: (String) -> Int?) {
        guard let scheme = url.scheme?.lowercased(), let defaultPort = portOf(scheme),
            let decodedHost = url.host(percentEncoded: false), !decodedHost.isEmpty
        else { return nil }
        self.scheme = scheme
        guard defaultPort != 0 else {
            guard url.port == nil, UnixSocketURL.socket(named: decodedHost) != nil else { return nil }
            (host, port) = (decodedHost, 0)
            return
        }
        let host = decodedHost.lowercased()
        // A name of another alphabet comes here in either form.
        self.host = host.isASCII ? host : Punycode.asciiDomain(host.precomposedStringWithCanonicalMapping[...])
        port = url.port ?? defaultPort
    }

    private init(scheme: String, host: String, port: Int) {
        (self.scheme, self.host, self.port) = (scheme, host, port)
    }

    /// The same scheme at another place.
    func at(_ host: String, port: Int) -> Origin {
        Origin(scheme: scheme, host: host, port: port)
    }

    var isFTP: Bool { scheme == "ftp" || scheme == "ftps" }
    var isSecure: Bool { scheme == "https" || scheme == "https+unix" }
    var isUnixSocket: Bool { scheme.hasSuffix("+unix") }
    var usesTLS: Bool { isSecure || scheme == "ftps" }
}
