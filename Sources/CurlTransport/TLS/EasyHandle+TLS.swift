import CCurlNetworkingLibcurl

extension EasyHandle {
    /// Has `store`'s authorities vouch for `peer` on each connection that this transfer makes. Called before the transfer.
    func trust(_ store: TrustStore, in peer: TLSPeer) throws(TransferFailure) {
        try watchHandshakes()
        tls[trustIn: peer] = store
    }

    /// Has `inquiry` take part in each handshake with the server. Called before the transfer.
    func ask(_ inquiry: HandshakeInquiry) throws(TransferFailure) {
        try watchHandshakes()
        tls.inquiry = inquiry
    }

    /// Has each handshake with the server end before a client certificate is shown, if the server's own isn't trusted. Called before the
    /// transfer.
    func verifyBeforeShowingCertificate() throws(TransferFailure) {
        if HandshakeFunctions.loaded != nil { try watchHandshakes() }
    }

    /// The same if its certificate is for another host than `host`, as `HandshakeInquiry` has it.
    func verifyBeforeShowingCertificate(to host: String) throws(TransferFailure) {
        guard HandshakeFunctions.loaded != nil else { return }
        try watchHandshakes()
        tls.hostCheck = HandshakeInquiry(checking: host)
    }

    private func watchHandshakes() throws(TransferFailure) {
        guard !tls.isNeeded else { return }
        try check(clibcurl_easy_set_ssl_context(handle, Callbacks.sslContext))
        try set(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Drops the session's own authorities for the proxy or the server, because the program is about to set others. Called before the
    /// transfer.
    func removeTrust(in peer: TLSPeer) throws(TransferFailure) {
        // For the resolver, libcurl takes those that are set for the server.
        if peer == .server { tls[trustIn: .resolver] = nil }
        if let store = tls[trustIn: peer] { try remove(store, in: peer) }
    }

    private func remove(_ store: TrustStore, in peer: TLSPeer) throws(TransferFailure) {
        tls[trustIn: peer] = nil
        if store.isSystems { try allowAuthorityFile(for: peer) }
        guard peer == .server else { return }
        if store.isSystems, let file = clibcurl_version_info().pointee.cainfo {
            try set(CURLOPT_CAINFO, String(cString: file))
        }
        try setCACache(lasting: Self.usualCACache)
    }

    /// Called before the transfer, after its authorities are set.
    func prepareForProxy(isSecure: Bool, hasAuthorities: Bool) throws(TransferFailure) {
        tls.hasSecureProxy = isSecure
        guard isSecure else { return }
        if CurlQuirks.current.restoresAuthorities {
            // libcurl's cache isn't used where it looks in a directory too, as it then does by default.
            if !hasAuthorities, TrustStore.replacesDefault { try ProxyTrust(.system).apply(to: self) }
        } else if let store = tls[trustIn: .server], store.isSystems {
            // libcurl parses the proxy's authorities. It should do that once, and has one cache for both.
            try remove(store, in: .server)
        }
    }

    /// For how many seconds libcurl keeps authorities that it has parsed; its default is a day. Called before the transfer.
    func setCACache(lasting seconds: Int) throws(TransferFailure) {
        guard CurlLibrary.hasCACache else { return }
        try set(CURLoption(UInt32(CLIBCURL_OPT_CA_CACHE_TIMEOUT)), seconds)
    }

    private static let usualCACache = 24 * 60 * 60

    /// Called within libcurl, once for each handshake. `user` is the handle whose connection it is: libcurl has internal handles for
    /// looking up names over HTTPS.
    func configures(_ context: OpenSSL.Pointer, for user: UnsafeMutableRawPointer?) -> CURLcode {
        let connectCode = info.long(CURLINFO_HTTP_CONNECTCODE)
        let peer: TLSPeer =
            user != handle ? .resolver : tls.securesProxy(connectCode: connectCode) ? .proxy : .server
        if let store = tls[trustIn: peer] {
            let code = store.use(in: context, of: self)
            guard code == CURLE_OK else { return code }
        }
        guard peer == .server else { return CURLE_OK }
        if tls.verifiesServer { HandshakeFunctions.loaded?.endUnverified(context) }
        return (tls.inquiry ?? tls.hostCheck)?.configure(context, of: self) ?? CURLE_OK
    }
}
