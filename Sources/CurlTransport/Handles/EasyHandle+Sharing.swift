import CCurlNetworkingLibcurl

/// Waits for connections that are shared, and closes those that can't be.
extension EasyHandle {
    /// Called before the transfer.
    func setConnectTimeout(_ timeout: Duration) throws(TransferFailure) {
        try set(CURLOPT_CONNECTTIMEOUT_MS, timeout.count(of: .milliseconds(1)))
        sharing.connectTimeout = timeout
    }

    /// Extends the connect timeout by the time waited for room on other transfers' connections, which newer versions of libcurl count
    /// against it. Called while the transfer waits.
    package func extendConnecting(by waited: Duration) {
        guard let timeout = sharing.connectTimeout else { return }
        try? setConnectTimeout(timeout + waited)
    }

    /// Has the connection closed after the transfer, unless others use it or a response arrives:
    /// see `CurlQuirks.sharesPriorKnowledgeWhenAnswered`. Called before the transfer.
    func closeConnectionUnlessAnswered() throws(TransferFailure) {
        try set(CURLOPT_FORBID_REUSE, true)
        sharing.awaitsResponse = true
    }

    /// At any time: libcurl checks when the transfer ends.
    func keepConnection() {
        sharing.awaitsResponse = false
        _ = clibcurl_easy_set_long(handle, CURLOPT_FORBID_REUSE, 0)
    }

    /// Called when the transfer ends, or is about to be removed, without a response. On a reused connection, an earlier transfer had one.
    func endedUnanswered() {
        if info.usesKeptConnection { keepConnection() }
        sharing.awaitsResponse = false
    }

    /// Whether its connection speaks HTTP/2; false before the request is begun.
    var speaksHTTP2: Bool {
        let version = info.long(CURLINFO_HTTP_VERSION)
        guard version == CURL_HTTP_VERSION_NONE else { return version == CURL_HTTP_VERSION_2_0 }
        return info.hasBegunRequest && sharing.isMultiplexed(info.negotiatedProtocol)
    }
}
