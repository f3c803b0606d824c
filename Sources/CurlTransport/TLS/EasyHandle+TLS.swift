import CCurlNetworkingLibcurl

extension EasyHandle {
    /// Calls `hook` for each connection that this transfer makes. Called before the transfer.
    func addTLSHook(_ hook: any TLSHook) throws(TransferFailure) {
        if tls.hooks.isEmpty {
            try check(clibcurl_easy_set_ssl_context(handle, Callbacks.sslContext))
            try set(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
        }
        tls.add(hook)
    }

    /// Drops the session's own authorities, because the program is about to set others. Called before the transfer.
    func removeTrustStore() throws(TransferFailure) {
        tls.removeResolverTrust()
        if let store = tls.store { try remove(store) }
    }

    private func remove(_ store: TrustStore) throws(TransferFailure) {
        tls.remove(store)
        if store.isSystems, let file = clibcurl_version_info().pointee.cainfo {
            try set(CURLOPT_CAINFO, String(cString: file))
        }
        try setCACache(lasting: Self.usualCACache)
    }

    /// Called before the transfer, after its authorities are set.
    func prepareForProxy(isSecure: Bool) throws(TransferFailure) {
        tls.hasSecureProxy = isSecure
        // libcurl parses the proxy's authorities. It should do that once, and has one cache for both.
        if tls.hasSecureProxy, let store = tls.store, store.isSystems { try remove(store) }
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
        for hook in tls.hooks {
            let code = hook.configure(context, of: self, with: peer)
            if code != CURLE_OK { return code }
        }
        return CURLE_OK
    }
}
