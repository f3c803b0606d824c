import Curl
import Foundation

// The way to a request's host, where that leads through a proxy, and what the proxy says about it. Everything on the loop.

extension TaskRunner {
    /// The way to the current request's host.
    var route: ProxyRoute { loading.ticket.map(lane.route) ?? .direct }

    /// Has the exchange take its way.
    func takeRoute(_ options: inout TransferOptions, of request: URLRequest) throws(URLError) {
        guard let ticket = loading.ticket else { return }
        switch lane.route(for: ticket) {
        case .direct: options.dropProxyAuthorization()
        case .unusable(let reason): throw URLError(.cannotConnectToHost, request.url, reason)
        case .through(let server) where server.tunnels(to: ticket.origin): options.tunnel(through: server)
        case .through(let server) where server.isSOCKS: options.dropProxyAuthorization()
        case .through: break
        }
    }

    /// Whether the proxy has refused to make a tunnel for want of a credential, and there may be one: then `tryNextOffer` goes on.
    func challengedInTunnel(_ exchange: Exchange, _ error: URLError?) -> Bool {
        guard let error, let head = exchange.refusal, head.status == 407, let url = exchange.request.url,
            let origin = route.server?.origin,
            let response = try? httpResponse(head, to: exchange.request)
        else { return false }
        let offers = AuthenticationOffer.offers(in: head, by: .proxy)
        guard !offers.isEmpty else { return false }
        do throws(URLError) {
            try loading.budget.spendChallenge(at: url)
        } catch {
            finish(.failure(error))
            return true
        }
        var authentication = loading.authentication ?? Authentication()
        _ = session.authenticationDesk.withSpaces { authentication.noteRefusal(by: .proxy, origin, offers, url, &$0) }
        let held = hold(head, of: exchange)
        held.exchangeFinished(error)
        authentication.challenged = Authentication.Challenged(
            held: held,
            party: .proxy,
            origin: origin,
            response: response,
            isInTunnel: true,
            offers: offers
        )
        loading.authentication = authentication
        tryNextOffer(of: held)
        return true
    }

    /// Where libcurl has answered the proxy's challenge on its own, and by Basic: that goes ahead from now on, and saves later tunnels a
    /// round trip.
    func noteAnsweredByLibcurl(_ exchange: Exchange, at url: URL) {
        guard let credential = loading.authentication?.tunnelCredential, let tunnel = exchange.tunnel,
            tunnel.head != nil, tunnel.refusal == nil, let challenge = tunnel.challenge,
            let origin = route.server?.origin,
            let offer = AuthenticationOffer.offers(in: challenge, by: .proxy).first, offer.scheme == .basic
        else { return }
        let space = ProtectionSpace(party: .proxy, origin: origin, realm: offer.realm, scheme: .basic)
        session.authenticationDesk.withSpaces { spaces in
            spaces.name(credential, for: space, digest: nil)
            spaces.prove(credential, for: space, at: url)
        }
    }
}

extension TransferOptions {
    /// Has an HTTP proxy make a tunnel. A `Proxy-Authorization` set by hand is for the proxy, which sees nothing of what goes through.
    fileprivate mutating func tunnel(through server: CurlOptions.ProxyServer) {
        usesTunnel = true
        tunnelHeaders = headers.filter(Self.isForProxy)
        if let credential = server.credential, tunnelHeaders.isEmpty {
            proxyAuthentication = ProxyAuthentication(.any, user: credential.user, password: credential.password)
        }
        dropProxyAuthorization()
        tunnelHeaders += headers.filter { Self.name(of: $0).isEqualIgnoringASCIICase(to: "User-Agent") }
    }

    /// No HTTP proxy sees the request: a `Proxy-Authorization` set by hand would come to the server (RFC 9110 §11.7.2).
    fileprivate mutating func dropProxyAuthorization() {
        if headers.contains(where: Self.isForProxy) { headers.removeAll(where: Self.isForProxy) }
    }

    private static func isForProxy(_ line: String) -> Bool {
        name(of: line).isEqualIgnoringASCIICase(to: "Proxy-Authorization")
    }

    /// Has libcurl show a credential when it asks for the tunnel.
    mutating func authenticateTunnel(_ use: Authentication.Use) {
        tunnelHeaders.removeAll(where: Self.isForProxy)
        let scheme: ProxyAuthentication.Scheme
        switch use.space.scheme {
        case .basic: scheme = .basic
        case .digest: scheme = .digest
        case .ntlm: scheme = .ntlm
        // A proxy's offer of it isn't taken.
        case .negotiate: scheme = .any
        }
        proxyAuthentication = ProxyAuthentication(scheme, user: use.credential.user, password: use.credential.password)
    }

    private static func name(of line: String) -> String {
        String(line.prefix { $0 != ":" && $0 != ";" })
    }
}

extension ProxySettings {
    init(_ server: CurlOptions.ProxyServer, for origin: Origin) {
        self.init(url: server.description)
        alwaysTunnels = server.alwaysTunnels && !server.isSOCKS
        authorities = server.certificateAuthorities?.path
        // For HTTP through an HTTP proxy the tasks show them, to those who ask. FTP knows no challenges.
        if let credential = server.credential, server.isSOCKS || origin.isFTP {
            authentication = ProxyAuthentication(.basic, user: credential.user, password: credential.password)
        }
    }
}
