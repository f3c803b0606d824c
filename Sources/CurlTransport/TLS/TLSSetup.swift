/// The TLS setup of a transfer's connections.
struct TLSSetup {
    private var serverTrust: TrustStore?
    private var proxyTrust: TrustStore?
    private var resolverTrust: TrustStore?
    /// Has a delegate decide about the server's certificate.
    var inquiry: HandshakeInquiry?
    /// Compares the certificate's host, where no delegate decides, before the server is shown the client's.
    var hostCheck: HandshakeInquiry?
    /// Whether the server's certificate must be trusted.
    var verifiesServer = true
    /// Why authorities can't be used, for which libcurl has no text.
    var complaint: String?
    /// The connection (`SSL *`) that the request was sent on, unless that speaks HTTP/2; it may have ended.
    var session: UnsafeRawPointer?
    /// Whether the transfer's proxy speaks TLS itself.
    var hasSecureProxy = false
    /// If false, all handshakes are with the proxy.
    var hasSecureServer = true
    /// Whether the last handshake was with the server, through the proxy's tunnel.
    private var wasServersTurn = false

    /// The authorities that must vouch for `peer`; nil for those that libcurl reads itself.
    subscript(trustIn peer: TLSPeer) -> TrustStore? {
        get {
            switch peer {
            case .server: serverTrust
            case .proxy: proxyTrust
            case .resolver: resolverTrust
            }
        }
        set {
            switch peer {
            case .server: serverTrust = newValue
            case .proxy: proxyTrust = newValue
            case .resolver: resolverTrust = newValue
            }
        }
    }

    /// Whether libcurl's own setup of a connection is changed.
    var isNeeded: Bool {
        serverTrust != nil || proxyTrust != nil || resolverTrust != nil || inquiry != nil || hostCheck != nil
    }

    /// Applies `change` to this transfer's authorities: the program has set an option that libcurl applies only to its own store.
    mutating func changeTrust(in peer: TLSPeer, _ change: (inout TrustStore.Content) -> Void) {
        guard var content = self[trustIn: peer]?.content else { return }
        change(&content)
        self[trustIn: peer] = TrustStore(content)
    }

    /// Whether the handshake about to begin is with the proxy rather than with the server through the proxy's tunnel. `connectCode` is the
    /// status of the proxy's last response to a CONNECT, or 0. Each call counts as one handshake.
    mutating func securesProxy(connectCode: Int) -> Bool {
        guard hasSecureProxy else { return false }
        guard hasSecureServer else { return true }
        // libcurl keeps the response to the last CONNECT when it makes another connection, which starts with the proxy.
        let isTunnelled = 200..<300 ~= connectCode && !wasServersTurn
        wasServersTurn = isTunnelled
        return !isTunnelled
    }
}
