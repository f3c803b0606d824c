import CCurlNetworkingLibcurl
import Glibc

/// How a transfer ended, according to libcurl, or to the multi if libcurl can't continue it.
struct TransferResult {
    let code: CURLcode
    /// 0 if there is none.
    let systemErrno: Int32
    /// nil for libcurl's own text.
    let text: String?
    /// Whether the transfer was paused when it ended; libcurl may have dropped bytes that had arrived.
    var wasKept = false

    init(code: CURLcode, systemErrno: Int32 = 0, text: String? = nil) {
        self.code = code
        self.systemErrno = systemErrno
        self.text = text
    }

    /// libcurl's result for `easy`, which is over.
    init(_ code: CURLcode, of easy: EasyHandle) {
        switch (code, easy.connections?.lack) {
        case (CURLE_COULDNT_CONNECT, let lack?):
            // libcurl would blame the server.
            self.init(code: code, systemErrno: lack.code, text: "No socket could be opened: \(lack).")
        case (CURLE_COULDNT_CONNECT, nil):
            let systemErrno = Int32(truncatingIfNeeded: easy.info.long(CURLINFO_OS_ERRNO))
            let text = easy.traits.unixSocket.map { Self.text(about: $0, systemErrno) }
            self.init(code: code, systemErrno: systemErrno, text: text)
        case (CURLE_ABORTED_BY_CALLBACK, _) where easy.tunnelResponse.isTooLarge:
            self.init(code: CURLE_WEIRD_SERVER_REPLY, text: "The proxy's answer is too large.")
        // What libcurl before 8 reports for a field that it can't keep, such as one with a NUL: in the response to CONNECT, if the request
        // has no response.
        case (CURLE_BAD_FUNCTION_ARGUMENT, _)
        where easy.info.long(CURLINFO_HTTP_CONNECTCODE) != 0 && easy.info.long(CURLINFO_RESPONSE_CODE) == 0:
            self.init(code: CURLE_WEIRD_SERVER_REPLY, text: "The proxy's answer is not valid.")
        default:
            // libcurl's errno would be that of an earlier transfer.
            self.init(code: code)
        }
    }

    /// Whether the transfer was ended by one of its callbacks.
    var isOfCallback: Bool { code == CURLE_WRITE_ERROR || code == CURLE_ABORTED_BY_CALLBACK }

    /// libcurl's own text names the URL's host, and a port, to neither of which anything was sent.
    private static func text(about socket: NameSettings.UnixSocket, _ systemErrno: Int32) -> String {
        let reason = systemErrno == 0 ? "" : ": \(SystemError(code: systemErrno))"
        return "Failed to connect to the Unix socket \(socket)\(reason)"
    }

    /// Unlike libcurl's own result of that name, it doesn't depend on what the server sent.
    static let lackOfMemory = TransferResult(code: CURLE_OUT_OF_MEMORY, systemErrno: ENOMEM)

    /// Without its socket's events, the transfer would wait for its time-out.
    static let unwatched = TransferResult(
        code: CURLE_FAILED_INIT,
        text: "The system watches no more sockets, for lack of memory or beyond its limit (epoll(7), max_user_watches)."
    )
}
