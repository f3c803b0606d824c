import CurlTransport

/// The HTTP version that a response must have, given what is known about its connection.
enum ConnectionVersion {
    case http1
    /// Without TLS and without negotiation.
    case http2
    case unknown

    /// The version spoken without TLS; unknown for an https URL, and if the program sets its own options, which may lead to either.
    init(withoutTLS options: borrowing TransferOptions, _ hooks: TransferHooks?) {
        let isKnown = !options.mayUseTLS && hooks?.configure == nil
        self = !isKnown ? .unknown : options.speaksHTTP2WithoutTLS ? .http2 : .http1
    }

    /// libcurl goes by the version that a response claims. One over HTTP/1.1 that claims to be HTTP/2 would make it send other requests on
    /// the connection concurrently, or never reuse it; and where HTTP/2 was wanted, others may already be sent concurrently.
    func complaint(aboutStatusLine line: UnsafeRawBufferPointer) -> String? {
        switch self {
        case .http1 where line.hasPrefix("HTTP/2"): "The response claims to be HTTP/2, and isn't."
        case .http2 where line.hasPrefix("HTTP/1"): "The response is HTTP/1, and only HTTP/2 is allowed."
        case .http1, .http2, .unknown: nil
        }
    }
}
