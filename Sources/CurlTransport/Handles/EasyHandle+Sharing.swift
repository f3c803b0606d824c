import CCurlNetworkingLibcurl

/// Closes connections that can't be shared.
extension EasyHandle {
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
