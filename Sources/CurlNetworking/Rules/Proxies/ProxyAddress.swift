import CurlTransport
import Foundation

/// Proxies as text.
enum ProxyAddress {
    /// Why a text or value isn't a usable proxy.
    struct Fault: Error, Equatable {
        var reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    /// The proxy in an environment variable: a URL or a part of one. The defaults are libcurl's.
    /// https://curl.se/libcurl/c/CURLOPT_PROXY.html
    static func server(_ text: String) throws(Fault) -> CurlOptions.ProxyServer {
        let separator = text.range(of: "://", options: .literal)
        let schemeText = separator.map { text[..<$0.lowerBound].lowercased() } ?? "http"
        guard let scheme = CurlOptions.ProxyServer.Scheme(rawValue: schemeText == "socks" ? "socks4" : schemeText)
        else {
            // Invalid text might contain a password, so it isn't quoted.
            let isScheme = schemeText.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            throw Fault(isScheme ? "There are no proxies of the scheme \(schemeText)." : "It begins with no scheme.")
        }
        let rest = text.utf8[(separator?.upperBound ?? text.startIndex)...]
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        let place = at.map { authority[authority.index(after: $0)...] } ?? authority
        let (host, port) = try hostAndPort(Substring(place))
        var server = CurlOptions.ProxyServer(scheme, host: host, port: port ?? (scheme == .https ? 443 : 1080))
        if let at { (server.user, server.password) = try credentials(Substring(authority[..<at])) }
        if let reason = fault(of: server) { throw Fault(reason) }
        return server
    }

    /// Parses "host" or "host:port", also with an IPv6 address in brackets.
    static func hostAndPort(_ text: Substring) throws(Fault) -> (host: String, port: Int?) {
        let (host, digits) = HostSpelling.splitPort(text)
        guard let digits, !digits.isEmpty else { return (String(host), nil) }
        guard let port = HostSpelling.port(digits) else {
            throw Fault("A proxy's port is a number from 1 to 65535.")
        }
        return (String(host), port)
    }

    private static func credentials(_ text: Substring) throws(Fault) -> (user: String?, password: String?) {
        guard let (user, password) = text.userInformation else {
            throw Fault("The proxy's user name or password is not valid.")
        }
        return user.isEmpty && (password ?? "").isEmpty ? (nil, nil) : (user, password)
    }

    /// Why the proxy can't be used; nil if it can.
    static func fault(of server: CurlOptions.ProxyServer) -> String? {
        guard isHost(server.host) else {
            return "\(server.host.debugDescription) isn't the name or address of a proxy."
        }
        guard (1...65535).contains(server.port) else { return "A proxy's port is a number from 1 to 65535." }
        if server.user == nil, server.password != nil { return "There is a password without a user name." }
        let secret = (server.user ?? "") + (server.password ?? "")
        if secret.utf8.contains(0) { return "The proxy's user name or password is not valid." }
        if server.isSOCKS, max(server.user?.utf8.count ?? 0, server.password?.utf8.count ?? 0) > 255 {
            return "User name and password for a SOCKS proxy have at most 255 bytes each."
        }
        if server.scheme == .https, !CurlLibrary.hasHTTPSProxy {
            return
                "A proxy of the scheme https needs a libcurl that was built for it; \(CurlLibrary.versionText) was not."
        }
        return nil
    }

    private static func isHost(_ host: String) -> Bool {
        let bare = HostSpelling.unbracketed(host)
        guard !bare.isEmpty else { return false }
        if bare.contains(":") { return IPAddress(bare) != nil }
        return host == bare && HostSpelling.canonical(bare) != nil
    }
}

extension CurlOptions.ProxyServer {
    var isSOCKS: Bool {
        switch scheme {
        case .http, .https: false
        case .socks4, .socks4a, .socks5, .socks5h: true
        }
    }

    /// The origin of its challenges and credentials; nil for SOCKS, which has no challenges.
    var origin: Origin? {
        isSOCKS ? nil : URL(string: description).flatMap(Origin.init)
    }

    /// With its host spelled as in `origin`, so that libcurl doesn't read another one.
    var canonical: CurlOptions.ProxyServer {
        var server = self
        server.host = HostSpelling.canonical(HostSpelling.unbracketed(host)) ?? host
        return server
    }

    var credential: Credential? {
        user.map { Credential(user: $0, password: password ?? "") }
    }

    /// nil for SOCKS.
    var challenger: Challenger? {
        origin.map { Challenger(party: .proxy, origin: $0, configured: credential) }
    }

    /// Whether requests to `origin` go through a tunnel, so that the proxy doesn't see them. libcurl tunnels to a host and port other than
    /// the URL's, whatever the scheme (CURLOPT_CONNECT_TO).
    func tunnels(to origin: Origin, connectingElsewhere: Bool = false) -> Bool {
        !isSOCKS && (origin.isSecure || origin.isStream || alwaysTunnels || connectingElsewhere)
    }
}
