import CCurlNetworkingLibcurl

/// Waits for connections that are shared, and closes those that can't be.
extension EasyHandle {
    /// Before the transfer.
    func setConnectTimeout(_ timeout: Duration) throws(TransferFailure) {
        try set(CURLOPT_CONNECTTIMEOUT_MS, timeout.count(of: .milliseconds(1)))
        sharing.connectTimeout = timeout
    }

    /// Adds the time for which the transfer has waited for room on others' connections to that for connecting, from which newer versions of
    /// libcurl take it. While it waits.
    package func extendConnecting(by waited: Duration) {
        guard let timeout = sharing.connectTimeout else { return }
        try? setConnectTimeout(timeout + waited)
    }

    /// Closes the transfer's connection after it, unless others use it or a response arrives: see
    /// `CurlQuirks.sharesPriorKnowledgeWhenAnswered`. Before the transfer.
    func closeConnectionUnlessAnswered() throws(TransferFailure) {
        try set(CURLOPT_FORBID_REUSE, true)
        sharing.awaitsAnswer = true
    }

    /// Any time: libcurl checks when the transfer ends.
    func keepConnection() {
        sharing.awaitsAnswer = false
        _ = clibcurl_easy_set_long(handle, CURLOPT_FORBID_REUSE, 0)
    }

    /// Called when the transfer ends, or is about to be removed, without a response. On a reused connection, an earlier transfer has had
    /// one.
    func endedUnanswered() {
        if longInfo(CURLINFO_NUM_CONNECTS) == 0 { keepConnection() }
        sharing.awaitsAnswer = false
    }
}
