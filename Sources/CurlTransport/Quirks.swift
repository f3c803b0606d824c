/// What a version of libcurl gets wrong. The code that works around a quirk stands where it is needed and names it, and both go when the
/// last version that has it is no longer supported.
///
/// Workarounds that cost next to nothing run with every version and have no Boolean here.
package struct CurlQuirks: Sendable, Equatable {
    /// Starts HTTP/2 anew on a connection that already speaks it by prior knowledge, which fails. A transfer that merely offers HTTP/2
    /// joins such a connection without that. 7.88.0 and 7.88.1. https://github.com/curl/curl/pull/10634
    package var restartsPriorKnowledge: Bool

    /// Leaves HTTP/2 input in its buffer until the socket has more; see `HTTP2StalledInput`. 7.88.1
    /// (https://github.com/curl/curl/pull/10529), until the buffers changed in 8.1 (https://github.com/curl/curl/pull/10720). For older
    /// versions, which haven't been seen to, it is assumed.
    package var forgetsHTTP2Input: Bool

    /// Shares an HTTP/2 connection without TLS only once its first answer has come. If none ever comes, the connection is of no use, and
    /// yet requests wait for it. Since 8.0; seen with 8.14.
    package var sharesPriorKnowledgeWhenAnswered: Bool

    /// Runs a transfer that was paused with `curl_easy_pause` over and over once something has come for it, so that the loop never gets
    /// back to its sockets. It rests if its callbacks answer PAUSE. Since 8.3; seen with 8.14.
    var spinsWhilePaused: Bool

    /// Silently leaves out a request's header field of more than 300 KiB. Since 8.0; seen with 8.14.
    package var dropsLargeFields: Bool

    /// Keeps TLS sessions with the easy handle, so that those of single-use handles are never resumed; see `TLSSessionCache`. Until 8.12,
    /// where the multi handle keeps them.
    var keepsTLSSessionsPerHandle: Bool

    package init(version: CurlVersion) {
        restartsPriorKnowledge = version >= CurlVersion(7, 88) && version < CurlVersion(8, 0)
        forgetsHTTP2Input = version < CurlVersion(8, 1)
        sharesPriorKnowledgeWhenAnswered = version >= CurlVersion(8, 0)
        spinsWhilePaused = version >= CurlVersion(8, 3)
        dropsLargeFields = version >= CurlVersion(8, 0)
        keepsTLSSessionsPerHandle = version < CurlVersion(8, 12)
    }

    /// Those of the libcurl that is linked. Whoever depends on a quirk holds a copy of its own, which a test can replace.
    package static let current = CurlQuirks(version: CurlLibrary.version)
}
