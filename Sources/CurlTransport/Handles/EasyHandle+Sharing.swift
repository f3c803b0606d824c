import CCurlNetworkingLibcurl

/// Closing connections that nobody could share: see `CurlQuirks.sharesPriorKnowledgeWhenAnswered`.
extension EasyHandle {
    /// Has the transfer's connection closed behind it, unless others use it or an answer comes. Before the transfer.
    func closeConnectionUnlessAnswered() throws(TransferFailure) {
        try set(CURLOPT_FORBID_REUSE, true)
        awaitsAnswer = true
    }

    /// Any time: libcurl looks when the transfer ends.
    func keepConnection() {
        awaitsAnswer = false
        _ = clibcurl_easy_set_long(handle, CURLOPT_FORBID_REUSE, 0)
    }

    /// The transfer has ended, or is about to be removed, before an answer came. Another has had one on a connection that was there before.
    func leftUnanswered() {
        if longInfo(CURLINFO_NUM_CONNECTS) == 0 { keepConnection() }
        awaitsAnswer = false
    }
}
