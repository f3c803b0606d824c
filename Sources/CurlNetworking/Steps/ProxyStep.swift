import CurlTransport
import Foundation

/// Sends a request along the route to its host. Stateless.
final class ProxyStep: Step {
    static let shared = ProxyStep()

    func encode(_ plan: TransferPlan, _ context: any StepContext) throws(URLError) {
        guard let ticket = plan.ticket else { return }
        switch context.pool.route(for: ticket) {
        case .direct: plan.options?.dropProxyAuthorization()
        case .unusable(let reason): throw URLError(.cannotConnectToHost, url: plan.request.url, reason)
        case .through(let server)
        where context.pool.usesTunnel(for: ticket) || plan.webSocket != nil && !server.isSOCKS:
            plan.options?.tunnel(through: server, to: ticket.origin, context.session.settings.names)
        case .through(let server) where server.isSOCKS: plan.options?.dropProxyAuthorization()
        case .through: plan.options?.nameTarget(at: ticket.origin)
        }
    }
}

extension TransferOptions {
    /// Makes an HTTP proxy open a tunnel. A `Proxy-Authorization` set by hand is for the proxy, which can't see what goes through the
    /// tunnel.
    fileprivate mutating func tunnel(through server: CurlOptions.ProxyServer, to origin: Origin, _ names: NameRules) {
        proxy.tunnel = ProxyUse.Tunnel(port: origin.port, connectTo: names.connectTo(for: origin))
        proxy.tunnelHeaders = headers.filter(Self.isForProxy)
        if let own = proxy.tunnelHeaders.first {
            // libcurl sends the line as it is, and nothing else. As with any credential, only requests with the same one share a tunnel.
            proxy.authentication = ProxyAuthentication(.basic, user: own, password: "")
        } else if let credential = server.credential {
            proxy.authentication = ProxyAuthentication(.any, user: credential.user, password: credential.password)
        }
        dropProxyAuthorization()
        proxy.tunnelHeaders += headers.filter { $0.isLine(ofField: "User-Agent") }
    }

    /// No HTTP proxy sees the request: a `Proxy-Authorization` set by hand would reach the server (RFC 9110 §11.7.2).
    fileprivate mutating func dropProxyAuthorization() {
        removeHeader("Proxy-Authorization")
    }

    /// Writes the request-target, which is the whole URL, and the field `Host`. libcurl (seen with 7.88.1) remembers with a connection to a
    /// proxy whether the first host asked for through it is an IPv6 address, and writes in that field the names of all others with brackets,
    /// too, or their addresses without.
    fileprivate mutating func nameTarget(at origin: Origin) {
        let host = hostField(of: origin)
        requestTarget = "http://" + host + target
        guard !headers.contains(where: { $0.isLine(ofField: "Host") }) else { return }
        headers.append("Host: \(host)")
    }

    /// Servers see the case of the letters, as without a proxy.
    private func hostField(of origin: Origin) -> String {
        let field = origin.hostField
        guard let start = url.range(of: "://")?.upperBound else { return field }
        let spelled = String(url[start...].prefix(field.count))
        return spelled.isEqualIgnoringASCIICase(to: field) ? spelled : field
    }

    private static func isForProxy(_ line: String) -> Bool {
        line.isLine(ofField: "Proxy-Authorization")
    }

    /// Makes libcurl send a credential with CONNECT.
    ///
    /// - Parameter digest: The field's value for Digest; nil for another scheme. libcurl, which can compute one only from a challenge on
    ///   the same connection, sends it as it is. It still needs the credential: only requests with the same one share a tunnel.
    mutating func authenticateTunnel(_ use: Authentication.Use, digest: String?) {
        proxy.tunnelHeaders.removeAll(where: Self.isForProxy)
        if let digest { proxy.tunnelHeaders.append("Proxy-Authorization: \(digest)") }
        let scheme: ProxyAuthentication.Scheme
        switch use.space.scheme {
        case .basic, .digest: scheme = .basic
        case .ntlm: scheme = .ntlm
        // A proxy's offer of it isn't accepted.
        case .negotiate: scheme = .any
        }
        proxy.authentication = ProxyAuthentication(scheme, user: use.credential.user, password: use.credential.password)
    }
}
