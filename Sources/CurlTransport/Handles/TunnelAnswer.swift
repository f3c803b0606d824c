import CCurlNetworkingLibcurl

/// Notices a proxy's answer to CONNECT that doesn't end. Loop only.
///
/// libcurl reads the answer byte by byte, for as long as more of it has arrived, and looks at no clock meanwhile; of a body nothing is passed
/// on. But libcurl reports its progress after each byte, and otherwise only a few times in each call.
struct TunnelAnswer {
    /// Header lines may belong to it, and are passed on.
    var isReported = false
    /// So much of it has arrived that the transfer must end.
    private(set) var isTooLarge = false
    /// Where the loop was at the last report; see `CallWatch`.
    private var place: UInt64 = 0
    private var reports = 0

    /// In bytes, within one call into libcurl: a quarter of a second's work. As much as a head may have.
    static let mostBytes = 300 * 1024

    /// Called for each report. False if the transfer must end.
    mutating func progressed(at place: UInt64) -> Bool {
        if place != self.place { (self.place, reports) = (place, 0) }
        reports += 1
        isTooLarge = isTooLarge || reports > Self.mostBytes
        return !isTooLarge
    }

    /// Lets libcurl report its progress to the handle's `tunnelAnswer`. For transfers that may go through an HTTP proxy's tunnel.
    static func limit(on easy: EasyHandle) throws(TransferFailure) {
        try easy.check(clibcurl_easy_set_progress(easy.handle, Callbacks.progress))
        try easy.set(CURLOPT_XFERINFODATA, Unmanaged.passUnretained(easy).toOpaque())
        try easy.set(CURLOPT_NOPROGRESS, false)
    }
}
