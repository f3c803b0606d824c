/// How far a transfer had got when it failed.
package enum TransferPhase: String, Sendable, CaseIterable {
    case preparing, resolving, connecting, securing, sending, receiving
}

/// Why a transfer failed, with everything libcurl and the system know about it.
package struct TransferFailure: Error, Sendable, Hashable {
    package var code: CurlCode
    /// libcurl's error buffer for this transfer, or its general text for `code` if the buffer is empty.
    package var text: String
    /// The system's `errno` of the connection attempt (`CURLINFO_OS_ERRNO`); 0 if there is none.
    package var systemErrno: Int32
    package var phase: TransferPhase
    /// Why the server's certificate isn't trusted, as OpenSSL's number (`X509_V_ERR_…`); 0 if that wasn't the reason.
    package var verification = 0
    /// The SOCKS proxy's reason as libcurl numbers it, if `code` is CURLE_PROXY.
    package var proxyReason: Int?
    /// Whether the transfer ran on a reused connection.
    package var isOnKeptConnection = false
    /// Whether libcurl could send no more, didn't say why, and had delivered all that had arrived.
    package var isUnexplainedSendError = false
    /// Whether libcurl would have sent the request once more than it may be sent.
    package var hasUsedUpSends = false

    package init(code: CurlCode, text: String, systemErrno: Int32 = 0, phase: TransferPhase = .preparing) {
        self.code = code
        self.text = text
        self.systemErrno = systemErrno
        self.phase = phase
    }

    /// libcurl's words if the server says, by an alert during the handshake, that the client's certificate has expired. If the server's own
    /// couldn't be verified, libcurl says why.
    static let textOfExpiredClient = "SSL certificate verification failed"

    /// Whether the server finds that the client's certificate has expired.
    package var isOfExpiredClient: Bool { code == .sslCertProblem && text == Self.textOfExpiredClient }

    package var proxy: ProxyFailure? { proxyReason.map { ProxyFailure($0) } }

    /// Whether input has left libcurl's HTTP/2 library in disorder. libcurl keeps the connection, but nothing more on it would be answered.
    var leavesHTTP2Broken: Bool { code == .recvError && text.contains("nghttp2_session_mem_recv() returned") }

    /// Whether that was the head of an HTTP/2 response, larger than libcurl accepts; only the text tells.
    package var isOfLargeHTTP2Head: Bool { leavesHTTP2Broken && text.contains(" -902") }
}
