import CCurlNetworkingLibcurl

/// The authorities that libcurl reads itself.
extension EasyHandle {
    /// Has libcurl itself trust nobody as `peer`: a `TrustStore` takes its authorities' place. Called before the transfer.
    func clearAuthorities(for peer: TLSPeer) throws(TransferFailure) {
        let options = AuthorityOptions(for: peer)
        try clear(options.file)
        try clearAuthorityDirectory(for: peer)
        guard Self.restoresAuthorities, clibcurl_version_info().pointee.cainfo != nil else { return }
        // They take the file's place, and if there is none, libcurl doesn't read its default.
        try set(options.bytes, Self.nobody)
        // For the resolver, libcurl takes those that are set for the server.
        if peer == .server, tls[trustIn: .resolver] == nil { try trust(.system, in: .resolver) }
    }

    /// Has libcurl look for `peer`'s authorities in no directory. Called before the transfer.
    func clearAuthorityDirectory(for peer: TLSPeer) throws(TransferFailure) {
        let option = AuthorityOptions(for: peer).directory
        guard Self.restoresAuthorities, clibcurl_version_info().pointee.capath != nil else { return try clear(option) }
        // OpenSSL finds no file there, and nobody can put one there.
        try set(option, "/dev/null")
    }

    /// Reverses what `clearAuthorities` did to the file's option.
    func allowAuthorityFile(for peer: TLSPeer) throws(TransferFailure) {
        if Self.restoresAuthorities { try clear(AuthorityOptions(for: peer).bytes) }
    }

    /// See `CurlQuirks.restoresAuthorities`. Other TLS libraries need real authorities.
    private static let restoresAuthorities = CurlQuirks.current.restoresAuthorities && TrustFunctions.loaded != nil

    /// An empty revocation list of a nameless authority: OpenSSL accepts it among authorities.
    private static let nobody = Array(
        """
        -----BEGIN X509 CRL-----
        MCQwGDAFBgMrZXAwABcNNzAwMTAxMDAwMDAwWjAFBgMrZXADAQA=
        -----END X509 CRL-----

        """.utf8
    )
}

private struct AuthorityOptions {
    let file, directory, bytes: CURLoption

    init(for peer: TLSPeer) {
        if peer == .proxy {
            (file, directory) = (CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH)
            bytes = CURLoption(UInt32(CLIBCURL_OPT_PROXY_CAINFO_BLOB))
        } else {
            (file, directory) = (CURLOPT_CAINFO, CURLOPT_CAPATH)
            bytes = CURLoption(UInt32(CLIBCURL_OPT_CAINFO_BLOB))
        }
    }
}
