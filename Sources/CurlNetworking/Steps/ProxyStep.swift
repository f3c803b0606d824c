import CurlTransport
import Foundation

/// Sends a request along the route to its host. Stateless.
final class ProxyStep: Step {
    static let shared = ProxyStep()

    func encode(_ plan: inout TransferPlan, _ host: any StepHost) throws(URLError) {
        guard let ticket = plan.ticket else { return }
        switch host.pool.route(for: ticket) {
        case .direct: plan.options?.dropProxyAuthorization()
        case .unusable(let reason): throw URLError(.cannotConnectToHost, plan.request.url, reason)
        case .through(let server) where host.pool.usesTunnel(for: ticket) || plan.webSocket != nil && !server.isSOCKS:
            plan.options?.tunnel(through: server)
        case .through(let server) where server.isSOCKS: plan.options?.dropProxyAuthorization()
        case .through: break
        }
    }
}

extension TransferOptions {
    /// Makes an HTTP proxy open a tunnel. A `Proxy-Authorization` set by hand is for the proxy, which can't see what goes through the
    /// tunnel.
    fileprivate mutating func tunnel(through server: CurlOptions.ProxyServer) {
        usesTunnel = true
        tunnelHeaders = headers.filter(Self.isForProxy)
        if let credential = server.credential, tunnelHeaders.isEmpty {
            proxyAuthentication = ProxyAuthentication(.any, user: credential.user, password: credential.password)
        }
        dropProxyAuthorization()
        tunnelHeaders += headers.filter { $0.isLine(ofField: "User-Agent") }
    }

    /// No HTTP proxy sees the request: a `Proxy-Authorization` set by hand would reach the server (RFC 9110 §11.7.2).
    fileprivate mutating func dropProxyAuthorization() {
        removeHeader("Proxy-Authorization")
    }

    private static func isForProxy(_ line: String) -> Bool {
        line.isLine(ofField: "Proxy-Authorization")
    }

    /// Makes libcurl send a credential with CONNECT.
    mutating func authenticateTunnel(_ use: Authentication.Use) {
        tunnelHeaders.removeAll(where: Self.isForProxy)
        let scheme: ProxyAuthentication.Scheme
        switch use.space.scheme {
        case .basic: scheme = .basic
        case .digest: scheme = .digest
        case .ntlm: scheme = .ntlm
        // A proxy's offer of it isn't accepted.
        case .negotiate: scheme = .any
        }
        proxyAuthentication = ProxyAuthentication(scheme, user: use.credential.user, password: use.credential.password)
    }
}
