import CCurlNetworkingLibcurl

/// Detects a proxy's response to CONNECT that doesn't end. Loop only.
///
/// libcurl reads the response byte by byte for as long as more has arrived, and looks at no clock meanwhile; it passes on nothing of a
/// body. But libcurl reports its progress after each byte, and otherwise only a few times in each call.
struct TunnelResponse {
    /// Whether header lines may belong to that response, and are passed on.
    var isReported = false
    /// How many connections libcurl had made for the transfer when the request last got one; nil before that.
    private var connections: Int?
    /// Whether so much of it has arrived that the transfer must end.
    private(set) var isTooLarge = false
    /// The loop's place at the last report; see `CallWatch`.
    private var place: UInt64 = 0
    private var reports = 0

    /// In bytes, within one call into libcurl: a quarter of a second's work. As long as a head may be.
    static let maximumBytes = 300 * 1024

    /// Called when a request is about to be sent, through the tunnel if there is one. libcurl has made this many connections for the
    /// transfer.
    mutating func ends(at connections: Int) {
        self.connections = connections
    }

    /// Whether a header line belongs to the proxy's response, not to the request's. Once libcurl knows the status of the latter, it may
    /// still lose the connection before the next step of a conversation, and make another tunnel.
    ///
    /// Called for each of the transfer's header lines if `isReported`, within libcurl. `status` is 0 until libcurl knows that of the
    /// request's own response, which it does from its first line on; it keeps the tunnel's separately. libcurl has made this many
    /// connections for the transfer.
    mutating func hasLine(status: Int, at connections: Int) -> Bool {
        guard status != 0 else { return true }
        // With a libcurl that doesn't report requests, the first response's connection counts, and none after it.
        let known = self.connections ?? connections
        self.connections = known
        return known != connections
    }

    /// Called for each report. False if the transfer must end.
    mutating func progressed(at place: UInt64) -> Bool {
        if place != self.place { (self.place, reports) = (place, 0) }
        reports += 1
        isTooLarge = isTooLarge || reports > Self.maximumBytes
        return !isTooLarge
    }

    /// Has libcurl report its progress to the handle's `tunnelResponse`. For transfers that may go through an HTTP proxy's tunnel.
    static func limit(on easy: EasyHandle) throws(TransferFailure) {
        try easy.check(clibcurl_easy_set_progress(easy.handle, Callbacks.progress))
        try easy.set(CURLOPT_XFERINFODATA, Unmanaged.passUnretained(easy).toOpaque())
        try easy.set(CURLOPT_NOPROGRESS, false)
    }
}
