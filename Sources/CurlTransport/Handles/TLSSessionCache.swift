import CCurlNetworkingLibcurl

/// The TLS sessions that a multi's connections leave for later ones to resume (RFC 8446 §2.2). Loop only.
///
/// For `CurlQuirks.keepsTLSSessionsPerHandle`: since our handles serve one transfer each, every new connection would negotiate from
/// scratch, and FTP servers that require data connections to resume the control connection's session would refuse those of a second
/// transfer. So the handles share a cache (https://curl.se/libcurl/c/CURLSHOPT_SHARE.html).
final class TLSSessionCache {
    private let share: CurlShare
    fileprivate var handle: UnsafeMutableRawPointer { share.handle }

    /// nil if libcurl is out of memory.
    init?() {
        guard let share = CurlShare(of: CURL_LOCK_DATA_SSL_SESSION) else { return nil }
        self.share = share
    }
}

extension EasyHandle {
    /// Called before the transfer.
    func join(_ sessions: TLSSessionCache) {
        guard clibcurl_easy_set_pointer(handle, CURLOPT_SHARE, sessions.handle) == CURLE_OK else { return }
        tlsSessions = sessions
    }

    /// Called after the transfer, when the handle has left its multi.
    func leaveTLSSessions() {
        guard tlsSessions != nil else { return }
        _ = clibcurl_easy_set_pointer(handle, CURLOPT_SHARE, nil)
        tlsSessions = nil
    }
}
