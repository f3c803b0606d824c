/// Bugs of particular libcurl versions. Each workaround sits where it is needed and names its quirk; both go once the last affected version
/// is no longer supported.
///
/// Workarounds that cost next to nothing run with every version and have no Boolean here.
package struct CurlQuirks: Sendable, Equatable {
    /// Restarts HTTP/2 on a connection that already speaks it by prior knowledge, which fails. A transfer that merely offers HTTP/2 joins
    /// such a connection without the restart. 7.88.0 and 7.88.1. https://github.com/curl/curl/pull/10634
    package var restartsPriorKnowledge: Bool

    /// Leaves HTTP/2 input in its buffer until the socket has more; see `HTTP2StalledInput`. Seen with 7.88.1
    /// (https://github.com/curl/curl/pull/10529); gone since the buffers changed in 8.1 (https://github.com/curl/curl/pull/10720). Assumed,
    /// though not seen, for older versions. If a stream's last frame doesn't fit into the rest of its receive buffer, and nothing else
    /// arrives on the connection, its end is forgotten for good: so buffers hold all that libcurl reads at once. 7.88.1 also forgets the
    /// end of a stream that it closes by sending the end of the request's body.
    package var forgetsHTTP2Input: Bool

    /// Resets the HTTP/2 stream of a transfer that leaves before its end, or that a callback ends, but keeps the frame until it next sends
    /// something on that connection; see `HeldResets`. Since 7.88, which began to gather small frames; seen with 7.88.1 and 8.14.1, not with
    /// 8.21.
    var holdsResetsBack: Bool

    /// Shares a plaintext HTTP/2 connection only after its first response. If none ever arrives, the connection is useless, yet other
    /// requests wait for it. Since 8.0; seen with 8.14.
    package var sharesPriorKnowledgeWhenAnswered: Bool

    /// Reconsiders the requests that wait for a new connection if it turns out to be shareable, but not if it doesn't. Since 8.0; seen with
    /// 8.14.
    package var forgetsWaiting: Bool

    /// Reports a complete response as `CURLE_SEND_ERROR` if it arrived over HTTP/2 before the request's body was completely sent. Since
    /// 8.0; seen with 8.14.
    package var failsAnsweredUploads: Bool

    /// Gives up an HTTP/2 connection because of something the server sent, but tells its transfers only when something else happens on it;
    /// see `SilentBreaks`. Since 8.0; seen with 8.14 and 8.21.
    var breaksHTTP2Silently: Bool

    /// Busy-loops on a transfer paused with `curl_easy_pause` once data has arrived for it, so that the loop never gets back to its
    /// sockets. It stays idle if the callbacks return PAUSE instead. Since 8.3; seen with 8.14.
    var spinsWhilePaused: Bool

    /// Silently drops a request header field larger than 300 KiB. Since 8.0; seen with 8.14.
    package var dropsLargeFields: Bool

    /// Reports a lack of memory if a line of a response's head is too long for it. Before 8.6 (https://github.com/curl/curl/pull/12269).
    package var blamesMemoryForLongLines: Bool

    /// Keeps TLS sessions with the easy handle, so those of single-use handles are never resumed; see `TLSSessionCache`. Before 8.12, which
    /// keeps them with the multi handle.
    var keepsTLSSessionsPerHandle: Bool

    /// Goes through all connections whenever a transfer leaves its multi handle; see `NoConnections`. Since 7.72
    /// (https://github.com/curl/curl/pull/5749). libcurl's own fix is from July 2026 (https://github.com/curl/curl/pull/22379); since no
    /// release with that fix has been tested, the bug is assumed in all newer versions.
    var looksThroughConnections: Bool

    /// Waits for no event after an FTP server's quick reply, though it has yet to open the data connection; and watches only that
    /// connection during its TLS handshake, although the next reply arrives on the control connection. Before 8.7
    /// (https://github.com/curl/curl/pull/12913); not seen with 8.14.
    package var missesFTPEvents: Bool

    /// Shakes hands for an FTP server's data connection without regard to the limit for connecting; and without any limit, it doesn't wait
    /// for the server either, but asks again and again. Seen with 8.21; not with 8.14.
    var forgetsFTPHandshakeLimit: Bool

    /// Never frees the bytes it holds of a paused transfer's body if the transfer ends while others share its connection. Seen with 7.88.1;
    /// since 8.7 a writer holds those bytes, and frees them.
    var leaksPausedBytes: Bool

    /// After the attempt to connect to an address has failed, it tries the next only when something else happens, such as the end of the
    /// half of the time for connecting that each address gets. Since 7.88; fixed in 8.4 (https://github.com/curl/curl/issues/11920).
    var forgetsNextAddress: Bool

    /// When something arrives while it waits for a 100 (Continue), it begins to wait anew, but keeps the timer for the end of the wait. That
    /// fires too early, and the request's body isn't sent unless something else happens. Seen with 7.88.1; not with 8.14, since 8.7 has new
    /// code for that.
    var restartsContinueWait: Bool

    /// Takes its defaults for the authorities of a handle that is told to have none. So it would parse the system's for each connection,
    /// although a `TrustStore` takes their place (25 ms of CPU), and trust them beside a file that the program names. Since 8.21
    /// (https://github.com/curl/curl/pull/21901). See `EasyHandle.clearAuthorities`.
    var restoresAuthorities: Bool

    package init(version: CurlVersion) {
        restartsPriorKnowledge = version >= CurlVersion(7, 88) && version < CurlVersion(8, 0)
        forgetsHTTP2Input = version < CurlVersion(8, 1)
        holdsResetsBack = version >= CurlVersion(7, 88) && version < CurlVersion(8, 21)
        sharesPriorKnowledgeWhenAnswered = version >= CurlVersion(8, 0)
        forgetsWaiting = version >= CurlVersion(8, 0)
        failsAnsweredUploads = version >= CurlVersion(8, 0)
        breaksHTTP2Silently = version >= CurlVersion(8, 0)
        spinsWhilePaused = version >= CurlVersion(8, 3)
        dropsLargeFields = version >= CurlVersion(8, 0)
        blamesMemoryForLongLines = version < CurlVersion(8, 6)
        keepsTLSSessionsPerHandle = version < CurlVersion(8, 12)
        looksThroughConnections = version >= CurlVersion(7, 72)
        missesFTPEvents = version < CurlVersion(8, 7)
        forgetsFTPHandshakeLimit = version >= CurlVersion(8, 15)
        leaksPausedBytes = version < CurlVersion(8, 7)
        forgetsNextAddress = version >= CurlVersion(7, 88) && version < CurlVersion(8, 4)
        restartsContinueWait = version < CurlVersion(8, 7)
        restoresAuthorities = version >= CurlVersion(8, 21)
    }

    /// The linked libcurl's quirks. Code that depends on a quirk holds its own copy, which tests can replace.
    package static let current = CurlQuirks(version: CurlLibrary.version)
}
