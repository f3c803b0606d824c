/// The TLS setup of a transfer's connections.
struct TLSSetup {
    /// Called in this order for each connection.
    private(set) var hooks: [any TLSHook] = []
    /// A hook's explanation of a failure for which libcurl has no text.
    var complaint: String?
    /// The connection (`SSL *`) that the request was sent on, unless that speaks HTTP/2; it may have ended.
    var session: UnsafeRawPointer?
    /// Whether the transfer's proxy speaks TLS itself.
    var hasSecureProxy = false
    /// If false, all handshakes are with the proxy.
    var hasSecureServer = true
    /// Whether the last handshake was with the server, through the proxy's tunnel.
    private var wasServersTurn = false

    var store: TrustStore? { hooks.lazy.compactMap { $0 as? TrustStore }.first }

    mutating func add(_ hook: any TLSHook) {
        hooks.append(hook)
    }

    mutating func remove(_ store: TrustStore) {
        hooks.removeAll { $0 === store }
    }

    mutating func removeResolverTrust() {
        hooks.removeAll { $0 is ResolverTrust }
    }

    /// Whether a delegate decides about the server's certificate.
    var asksAboutServer: Bool { hooks.contains { $0 is HandshakeInquiry } }

    /// Applies `change` to this transfer's authorities: the program has set an option that libcurl applies only to its own store.
    mutating func changeTrust(_ change: (inout TrustStore.Content) -> Void) {
        guard let store else { return }
        var content = store.content
        change(&content)
        hooks = hooks.map { $0 === store ? TrustStore(content) : $0 }
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
