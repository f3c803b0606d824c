import CCurlNetworkingLibcurl

extension TransferFailure {
    /// The failure of `easy`'s transfer, which ended with `result`: with the error buffer's text, the system's errno and how far it got.
    init(_ result: TransferResult, of easy: EasyHandle) {
        if let failure = easy.tls.hostCheck?.failure {
            self = failure
            return
        }
        let (text, phase) = (result.text ?? easy.tls.complaint ?? String(cString: easy.errorBuffer), easy.phase)
        let code = Self.isOfClientCertificate(result.code, text) ? CURLE_SSL_CERTPROBLEM : result.code
        self.init(
            code: CurlCode(code),
            text: text.isEmpty ? CurlCode(code).text : text,
            systemErrno: result.systemErrno,
            // Some versions of libcurl count the handshake as a part of connecting.
            phase: phase == .connecting && CurlCode(code).isOfTLS ? .securing : phase
        )
        // For any other failure the value means nothing.
        if code == CURLE_PEER_FAILED_VERIFICATION { verification = easy.info.long(CURLINFO_SSL_VERIFYRESULT) }
        if code == CURLE_PROXY { note(proxyReason: easy.info.long(CURLINFO_PROXY_ERROR)) }
        if code == CURLE_PEER_FAILED_VERIFICATION, easy.info.long(CURLINFO_PROXY_SSL_VERIFYRESULT) != 0 {
            self.text = "The proxy's certificate: \(self.text)"
        }
        isOnKeptConnection = [.sending, .receiving].contains(phase) && easy.info.usesKeptConnection
        isUnexplainedSendError = code == CURLE_SEND_ERROR && text.isEmpty && !result.wasKept
        if let refusal = easy.sharing.refusal, code == CURLE_ABORTED_BY_CALLBACK { note(refusal) }
        if easy.traits.asksResolver { noteResolver(of: easy) }
    }

    /// SOCKS 4 has no IPv6 addresses. libcurl has the same reason for one as for a host that it can't find; only the text tells.
    private mutating func note(proxyReason reason: Int) {
        let isUnsupported = text.hasPrefix("SOCKS4 connection to ")
        proxyReason = isUnsupported ? Int(CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED.rawValue) : reason
    }

    /// Whether a client certificate is the reason for a failure to which libcurl gives another code.
    private static func isOfClientCertificate(_ code: CURLcode, _ text: String) -> Bool {
        switch code {
        // It can't use the key. Newer versions (seen with 8.21) take that for a wrong argument.
        case CURLE_BAD_FUNCTION_ARGUMENT: text.hasPrefix("unable to set private key file")
        // The server's alert says that the certificate has expired. libcurl thinks it is about the server's own.
        case CURLE_PEER_FAILED_VERIFICATION: text == TransferFailure.textOfExpiredClient
        default: false
        }
    }

    /// libcurl (7.88) takes it for a lack of memory if DNS over HTTPS yields no address: if the host's name is only an alias, or, where IPv4
    /// addresses alone are wanted, whatever the reason. Newer versions (seen with 8.14) take a proxy for the host then.
    private mutating func noteResolver(of easy: EasyHandle) {
        guard phase == .resolving, systemErrno == 0, [.outOfMemory, .couldntResolveHost].contains(code) else { return }
        let unresolved = easy.traits.usesProxy ? CurlCode.couldntResolveProxy : .couldntResolveHost
        if code != unresolved { (code, text) = (unresolved, unresolved.text) }
    }

    /// Notes that `Callbacks.prerequest` has ended the transfer.
    private mutating func note(_ refusal: TransferSharing.Refusal) {
        switch refusal {
        case .there:
            // As if libcurl itself couldn't have sent it again.
            code = .sendFailRewind
            text = CurlCode.sendFailRewind.text
        case .again:
            code = .sendError
            text = "The connection was lost, or the server refused the request, each time it was sent."
            hasUsedUpSends = true
        }
    }
}
