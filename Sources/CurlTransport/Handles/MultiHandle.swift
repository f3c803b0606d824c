import CCurlNetworkingLibcurl

/// libcurl's multi handle, and the caches that exist only as long as it. Loop only.
///
/// Made and closed by a `Multi`, which it retains until then.
struct MultiHandle {
    let pointer: UnsafeMutableRawPointer
    /// nil if libcurl needs none, or was out of memory.
    let tlsSessions: TLSSessionCache?
    /// nil if libcurl needs none, or was out of memory.
    let noConnections: NoConnections?
    /// Whether libcurl ran out of memory in the middle of its work, and may have left any transfer without a socket or a timer. It must not
    /// be told to continue: some versions would divide by zero.
    private(set) var isBroken = false

    /// nil if libcurl is out of memory.
    init?(for multi: Multi, limits: ConnectionLimits, quirks: CurlQuirks) {
        guard let pointer = curl_multi_init() else { return nil }
        self.pointer = pointer
        tlsSessions = quirks.keepsTLSSessionsPerHandle ? TLSSessionCache() : nil
        noConnections = quirks.looksThroughConnections ? NoConnections() : nil
        // Released by the multi after close(): libcurl makes callbacks until curl_multi_cleanup has returned.
        let context = Unmanaged.passRetained(multi).toOpaque()
        _ = clibcurl_multi_set_socket(pointer, Callbacks.socket)
        _ = clibcurl_multi_set_pointer(pointer, CURLMOPT_SOCKETDATA, context)
        _ = clibcurl_multi_set_timer(pointer, Callbacks.timer)
        _ = clibcurl_multi_set_pointer(pointer, CURLMOPT_TIMERDATA, context)
        limits.apply(to: pointer)
    }

    /// `pointer` unless libcurl must not be told to continue.
    var usable: UnsafeMutableRawPointer? { isBroken ? nil : pointer }

    mutating func ranOutOfMemory() {
        isBroken = true
    }

    /// Outside of libcurl.
    func liftHostLimit() {
        guard !isBroken else { return }
        _ = clibcurl_multi_set_long(pointer, CURLMOPT_MAX_HOST_CONNECTIONS, 0)
    }

    /// Closes the connections, too. Outside of libcurl, with no transfers.
    func close() {
        curl_multi_cleanup(pointer)
    }
}
