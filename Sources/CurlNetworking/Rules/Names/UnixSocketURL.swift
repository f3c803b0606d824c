import Foundation

/// URLs whose host is a Unix domain socket: `http+unix://%2Frun%2Fapp.sock/path` for one in the file system,
/// `http+unix://%40name/path` for one in Linux's abstract namespace; `https+unix` for TLS over it.
enum UnixSocketURL {
    /// The socket named by the percent-decoded host; nil if it names none.
    static func socket(named host: String) -> CurlOptions.UnixSocket? {
        if host.begins(with: "/") { return isName(host) ? .path(host) : nil }
        guard host.begins(with: "@") else { return nil }
        let name = String(Substring(host.utf8.dropFirst()))
        return isName(name) ? .abstract(name) : nil
    }

    /// In bytes: the room in a socket's address (unix(7)).
    static let longestName = 107

    static func isName(_ name: String) -> Bool {
        (1...longestName).contains(name.utf8.count) && !name.utf8.contains(0)
    }

    /// The name of the socket in HTTP and TLS: in `Host` and in the certificate.
    static let authority = "localhost"

    /// The target of a redirect from `base`. A server on a socket knows itself only by the name in `Host`, so in its redirects that name
    /// means the same socket.
    static func redirected(to target: URL, from base: URL) -> URL {
        guard let from = Origin(base), from.isUnixSocket, let to = Origin(target),
            to.scheme == from.scheme.transport, to.host == authority, to.port == to.scheme.defaultPort,
            var components = URLComponents(url: target, resolvingAgainstBaseURL: true)
        else { return target }
        components.scheme = from.scheme.rawValue
        components.percentEncodedHost = base.host(percentEncoded: true)
        components.port = nil
        return components.url ?? target
    }
}
