import CCurlNetworkingLibcurl

extension EasyHandle {
    /// The TLS setup of a transfer's connections.
    struct TLSSetup {
        /// Called in this order for each connection.
        fileprivate var hooks: [any TLSHook] = []
        /// A hook's explanation of a failure for which libcurl has no text.
        var complaint: String?
        /// The connection (`SSL *`) that the request was sent on, unless that speaks HTTP/2; it may be over.
        var session: UnsafeRawPointer?
        /// Whether the transfer's proxy speaks TLS itself.
        var hasSecureProxy = false
        /// The last handshake was with the server, through the proxy's tunnel.
        fileprivate var wasServersTurn = false
    }

    /// Calls `hook` for each connection that this transfer makes. Before the transfer.
    func addTLSHook(_ hook: any TLSHook) throws(TransferFailure) {
        if tls.hooks.isEmpty {
            try check(clibcurl_easy_set_ssl_context(handle, Callbacks.sslContext))
            try set(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
        }
        tls.hooks.append(hook)
    }

    /// Drops the session's own authorities, because the program has set others. Before the transfer.
    func removeTrustStore() {
        tls.hooks.removeAll { $0 is TrustStore || $0 is ResolverTrust }
    }

    /// Called within libcurl, once for each handshake. `user` is the handle whose connection it is: libcurl has internal handles for
    /// looking up names over HTTPS.
    func configures(_ context: OpenSSL.Pointer, for user: UnsafeMutableRawPointer?) -> CURLcode {
        let peer: TLSPeer = user != handle ? .resolver : securesProxy() ? .proxy : .server
        for hook in tls.hooks {
            let code = hook.configure(context, of: self, with: peer)
            if code != CURLE_OK { return code }
        }
        return CURLE_OK
    }

    /// Whether the handshake about to begin is with the proxy rather than with the server through the proxy's tunnel. Each call counts as
    /// one handshake.
    private func securesProxy() -> Bool {
        guard tls.hasSecureProxy else { return false }
        // libcurl keeps the response to the last CONNECT when it makes another connection, which starts with the proxy.
        let isTunnelled = 200..<300 ~= longInfo(CURLINFO_HTTP_CONNECTCODE) && !tls.wasServersTurn
        tls.wasServersTurn = isTunnelled
        return !isTunnelled
    }
}
