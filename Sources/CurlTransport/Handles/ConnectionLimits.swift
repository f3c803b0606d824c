import CCurlNetworkingLibcurl

/// Limits on a multi's connections, and on the requests on each.
package struct ConnectionLimits: Sendable, Equatable {
    /// At this many, a connection that becomes idle, or the one idle for the longest time, is closed.
    package var kept: Int
    /// The most that are open at any time: idle ones make room for a new one. nil for no limit.
    package var total: Int?
    /// The most that are open to a host at any time; nil for no limit. Transfers beyond it wait in libcurl, without a time-out, so callers
    /// admit no more than they know will fit. The limit is for when they can't know: libcurl would open a connection for each request that
    /// finds no room on the open ones.
    package var perHost: Int?
    /// Concurrent requests on one HTTP/2 connection; nil for libcurl's default, 100.
    package var streams: Int?
    /// How long connections are kept while there are no transfers at all.
    package var idleLifetime = Self.defaultIdleLifetime

    /// libcurl doesn't reuse a connection that has been idle for longer.
    /// https://curl.se/libcurl/c/CURLOPT_MAXAGE_CONN.html
    package static let defaultIdleLifetime = Duration.seconds(118)

    package init(
        kept: Int,
        total: Int? = nil,
        perHost: Int? = nil,
        streams: Int? = nil,
        idleLifetime: Duration = defaultIdleLifetime
    ) {
        (self.kept, self.total, self.perHost) = (kept, total, perHost)
        (self.streams, self.idleLifetime) = (streams, idleLifetime)
    }

    /// Called on a new multi handle.
    func apply(to handle: UnsafeMutableRawPointer) {
        _ = clibcurl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, kept)
        if let total { _ = clibcurl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, total) }
        if let perHost { _ = clibcurl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, perHost) }
        if let streams { _ = clibcurl_multi_set_long(handle, CURLMOPT_MAX_CONCURRENT_STREAMS, streams) }
    }
}
