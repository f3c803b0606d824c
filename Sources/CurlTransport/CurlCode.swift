import CCurlNetworkingLibcurl

/// A `CURLcode`: the result of a transfer, or of one call on an easy handle.
/// https://curl.se/libcurl/c/libcurl-errors.html
package struct CurlCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(_ code: CURLcode) {
        rawValue = code.rawValue
    }

    package static let ok = CurlCode(CURLE_OK)

    /// Whether TLS failed, which implies that there was a connection.
    var isOfTLS: Bool {
        let codes: [CurlCode] = [
            .sslConnectError, .peerFailedVerification, .sslCertProblem, .sslCipher, .sslCACertBadFile, .sslCRLBadFile,
            .sslIssuerError, .sslPinnedPubKeyNotMatch, .sslInvalidCertStatus, .sslClientCert, .echRequired,
        ]
        return codes.contains(self)
    }

    /// libcurl's one-line description of the code, in English.
    package var text: String {
        String(cString: curl_easy_strerror(CURLcode(rawValue: rawValue)))
    }
}

extension CurlCode: CustomStringConvertible {
    package var description: String { "\(text) (CURLcode \(rawValue))" }
}
