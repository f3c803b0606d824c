import Foundation

/// URLs whose host is a Unix domain socket: `http+unix://%2Frun%2Fapp.sock/path` for one in the file system, and
/// `http+unix://%40name/path` for one in Linux's abstract namespace; `https+unix` for TLS over it.
enum UnixSocketURL {
    /// The scheme that is spoken over the socket; nil where `scheme`, in lower case, is none of these.
    static func transportScheme(of scheme: String) -> String? {
        switch scheme {
        case "http+unix": "http"
        case "https+unix": "https"
        default: nil
        }
    }

    /// The socket that the host, percent-decoded, names; nil where it names none.
    static func socket(named host: String) -> CurlOptions.UnixSocket? {
        if host.hasPrefix("/") { return isName(host) ? .path(host) : nil }
        guard host.hasPrefix("@") else { return nil }
        let name = String(host.dropFirst())
        return isName(name) ? .abstract(name) : nil
    }

    /// In bytes, as far as the kernel's address of a socket goes (unix(7)).
    static let longestName = 107

    static func isName(_ name: String) -> Bool {
        (1...longestName).contains(name.utf8.count) && !name.utf8.contains(0)
    }

    /// What stands for the socket where HTTP and TLS want a name: in `Host`, and in the certificate.
    static let authority = "localhost"

    /// The URL as libcurl gets it, which is told the socket besides. `url` is without user name and password; one that leads
    /// to no socket comes back as it is.
    static func transportURL(_ url: String) -> String {
        guard url.containsASCII("+"), let colon = url.firstIndex(of: ":"),
            let scheme = transportScheme(of: url[..<colon].lowercased()),
            let slashes = url.range(of: "://")
        else { return url }
        let rest = url[slashes.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        return "\(scheme)://\(authority)\(rest[end...])"
    }

    /// Where a redirect from `base` leads. A server behind a socket that writes whole URLs knows itself by the name in `Host`
    /// alone, so that name is the same socket.
    static func redirected(to target: URL, from base: URL) -> URL {
        guard let from = Origin(base), from.isUnixSocket, let to = Origin(target),
            to.scheme == transportScheme(of: from.scheme), to.host == authority,
            to.port == (to.isSecure ? 443 : 80),
            var components = URLComponents(url: target, resolvingAgainstBaseURL: true)
        else { return target }
        components.scheme = from.scheme
        components.percentEncodedHost = base.host(percentEncoded: true)
        components.port = nil
        return components.url ?? target
    }
}
