import CCurlNetworkingLibcurl

/// One kind of libcurl's data, which several easy handles share.
/// https://curl.se/libcurl/c/libcurl-share.html
struct CurlShare: ~Copyable {
    let handle: UnsafeMutableRawPointer

    /// nil if libcurl is out of memory.
    init?(of data: curl_lock_data) {
        guard let handle = curl_share_init() else { return nil }
        guard clibcurl_share_data(handle, data) == CURLSHE_OK else {
            curl_share_cleanup(handle)
            return nil
        }
        self.handle = handle
    }

    /// The easy handles must have left it.
    deinit {
        curl_share_cleanup(handle)
    }
}
