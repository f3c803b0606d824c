import CCurlNetworkingLibcurl

extension TransferPhase {
    /// How far `easy`'s transfer has got. libcurl stamps each stage at its end, except the response's start, which it stamps when it begins
    /// to send a body.
    init(of easy: EasyHandle) {
        let mayReceive = !easy.traits.sendsBody || easy.info.long(CURLINFO_RESPONSE_CODE) >= 200
        if mayReceive, easy.info.hasResponse {
            self = .receiving
        } else if easy.info.hasSentHead {
            self = Self.hasSentRequest(easy) ? .receiving : .sending
        } else if easy.info.offset(CURLINFO_CONNECT_TIME_T) > 0 {
            self = Self.awaitsTunnel(easy) ? .connecting : .securing
        } else {
            self = easy.info.offset(CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
        }
    }

    /// Whether the system has taken all of an HTTP request, and libcurl waits for its response.
    private static func hasSentRequest(_ easy: EasyHandle) -> Bool {
        guard easy.traits.sendsBody else { return easy.info.long(CURLINFO_REQUEST_SIZE) > 0 }
        return easy.handler?.wholeBodyLength.map { easy.info.offset(CURLINFO_SIZE_UPLOAD_T) >= $0 } ?? false
    }

    /// Whether there is a connection to an HTTP proxy that hasn't agreed to a tunnel.
    private static func awaitsTunnel(_ easy: EasyHandle) -> Bool {
        easy.tunnelResponse.isReported && !(200..<300 ~= easy.info.long(CURLINFO_HTTP_CONNECTCODE))
    }
}
