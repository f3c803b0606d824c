import CCurlNetworkingLibcurl

/// A connection cache that stays empty, used to make a multi's handles forget their connections. Loop only.
///
/// When a handle that remembers a connection leaves its multi, libcurl searches all connections of the multi for that one, in case it was
/// made for `CURLOPT_CONNECT_ONLY` (`CurlQuirks.looksThroughConnections`; `close_connect_only` in libcurl's multi.c). With 20,000
/// connections, that takes several times as long as the rest of a request. But libcurl also forgets a connection that it is asked for and
/// doesn't find, and it looks for it in the cache that the handle shares with others, if there is one.
final class NoConnections {
    private let share: CurlShare

    /// nil if libcurl is out of memory.
    init?() {
        guard let share = CurlShare(of: CURL_LOCK_DATA_CONNECT) else { return nil }
        self.share = share
    }

    /// Called when libcurl has reported the end of a transfer, and before its handle leaves the multi.
    func replaceConnection(of easy: EasyHandle) {
        // A handle shares with one at a time; its TLS sessions have been stored by now.
        guard clibcurl_easy_set_pointer(easy.handle, CURLOPT_SHARE, share.handle) == CURLE_OK else { return }
        easy.tlsSessions = nil
        _ = easy.info.activeSocket
        _ = clibcurl_easy_set_pointer(easy.handle, CURLOPT_SHARE, nil)
    }
}
