import CCurlNetworkingLibcurl

extension EasyHandle {
    /// How TLS is set up for the connections of a transfer.
    struct TLSSetup {
        /// Called in this order with each connection.
        fileprivate var hooks: [any TLSHook] = []
        /// What a hook has to say of a failure for which libcurl has no words.
        var complaint: String?
        /// Whether the transfer's proxy speaks TLS itself.
        var hasSecureProxy = false
        /// The last handshake was with the server, through the proxy's tunnel.
        fileprivate var wasServersTurn = false
    }

    /// Has `hook` called with each connection that this transfer makes. Before the transfer.
    func addTLSHook(_ hook: any TLSHook) throws(TransferFailure) {
        if tls.hooks.isEmpty {
            try check(clibcurl_easy_set_ssl_context(handle, Callbacks.sslContext))
            try set(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
        }
        tls.hooks.append(hook)
    }

    /// Drops the session's own authorities: the program has set others. Before the transfer.
    func removeTrustStore() {
        tls.hooks.removeAll { $0 is TrustStore }
    }

    /// Called within libcurl, once for each handshake. `user` is the handle whose connection it is: libcurl has handles of its own for
    /// looking up names over HTTPS.
    func configures(_ context: OpenSSL.Pointer, for user: UnsafeMutableRawPointer?) -> CURLcode {
        let peer: TLSPeer = user != handle ? .resolver : securesProxy() ? .proxy : .server
        for hook in tls.hooks {
            let code = hook.configure(context, of: self, with: peer)
            if code != CURLE_OK { return code }
        }
        return CURLE_OK
    }

    /// Whether the handshake that is about to begin is with the proxy, not with the server through the proxy's tunnel. It counts as one
    /// handshake each time it is asked.
    private func securesProxy() -> Bool {
        guard tls.hasSecureProxy else { return false }
        // libcurl keeps the answer to the last CONNECT when it makes another connection, which begins with the proxy.
        let isTunnelled = 200..<300 ~= longInfo(CURLINFO_HTTP_CONNECTCODE) && !tls.wasServersTurn
        tls.wasServersTurn = isTunnelled
        return !isTunnelled
    }
}
