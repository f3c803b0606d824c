import Foundation

/// What one request of a task, and its answer, have cost.
///
/// Dates are nil for what didn't happen: a connection used again is not looked up, connected or secured, and an answer that
/// never began doesn't end. They are as exact as libcurl's clock, a microsecond, counted from ``fetchStartDate``.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiontasktransactionmetrics>
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    // @unchecked is true because this never changes.
    private let hop: HopMetrics

    init(_ hop: HopMetrics) {
        self.hop = hop
    }

    /// The request.
    open var request: URLRequest { hop.request }

    /// The answer; nil where none came.
    open var response: URLResponse? { hop.madeResponse }

    // MARK: - When

    /// When the transport was given the request: the waiting for a connection to become free is over.
    open var fetchStartDate: Date? { hop.start }

    /// When the host's name began to be looked up.
    open var domainLookupStartDate: Date? { hop.domainLookupStart }

    /// When the host's address was known.
    open var domainLookupEndDate: Date? { hop.domainLookupEnd }

    /// When the connection began to be made.
    open var connectStartDate: Date? { hop.connectStart }

    /// When the TLS handshake began.
    open var secureConnectionStartDate: Date? { hop.secureConnectionStart }

    /// When the TLS handshake was over.
    open var secureConnectionEndDate: Date? { hop.secureConnectionEnd }

    /// When the connection stood, TLS included.
    open var connectEndDate: Date? { hop.connectEnd }

    /// When the request began to be sent.
    open var requestStartDate: Date? { hop.requestStart }

    /// When the request's last byte was handed to the transport; with libcurl 8.10, when it was sent.
    open var requestEndDate: Date? { hop.requestEnd }

    /// When the answer's first byte was there.
    open var responseStartDate: Date? { hop.responseStart }

    /// When the answer was complete, or broke off.
    open var responseEndDate: Date? { hop.responseEnd }

    // MARK: - How

    /// What was spoken, as its ALPN identifier: `http/1.1`, `h2` and their like; nil where no answer came.
    open var networkProtocolName: String? { hop.statistics?.applicationProtocol }

    /// Whether the request went through a proxy of any kind. See <doc:Proxies>.
    open var isProxyConnection: Bool { hop.isProxyConnection }

    /// Whether the connection stood already.
    open var isReusedConnection: Bool { hop.isReusedConnection }

    /// Where the answer came from.
    open var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType {
        switch hop.source {
        case .network: .networkLoad
        case .cache: .localCache
        case .other: .unknown
        }
    }

    /// How the name was looked up; the system doesn't tell.
    open var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol { .unknown }

    // MARK: - Between whom

    /// This end's address, in figures.
    open var localAddress: String? { hop.statistics?.localAddress }

    /// This end's port, in figures.
    open var localPort: String? { hop.statistics?.localPort.map(String.init) }

    /// The other end's address, in figures: the server's or a proxy's.
    open var remoteAddress: String? { hop.statistics?.remoteAddress }

    /// The other end's port, in figures.
    open var remotePort: String? { hop.statistics?.remotePort.map(String.init) }

    /// The version of TLS; nil without TLS, and where libcurl uses another library than OpenSSL.
    open var negotiatedTLSProtocolVersion: tls_protocol_version_t? {
        hop.tls.flatMap { tls_protocol_version_t(rawValue: $0.protocolVersion) }
    }

    /// The cipher suite of TLS; nil without TLS, where libcurl uses another library than OpenSSL, and for suites that the
    /// type has no name for.
    open var negotiatedTLSCipherSuite: tls_ciphersuite_t? {
        hop.tls.flatMap { tls_ciphersuite_t(rawValue: $0.cipherSuite) }
    }

    /// Always false: Linux doesn't tell one network from another.
    open var isCellular: Bool { false }

    /// Always false: Linux doesn't tell one network from another.
    open var isExpensive: Bool { false }

    /// Always false: Linux doesn't tell one network from another.
    open var isConstrained: Bool { false }

    /// Always false: connections use plain TCP.
    open var isMultipath: Bool { false }

    // MARK: - How much, in bytes

    /// The request's head, as HTTP/1.1 writes it; HTTP/2 sends it shorter.
    open var countOfRequestHeaderBytesSent: Int64 { hop.statistics?.requestHeadSize ?? 0 }

    /// The request's body, as far as it was handed to the transport.
    open var countOfRequestBodyBytesSent: Int64 { hop.sentBodySize }

    /// The request's body; it is never encoded.
    open var countOfRequestBodyBytesBeforeEncoding: Int64 { hop.sentBodySize }

    /// The heads of the answer, as HTTP/1.1 writes them: informational ones and trailers included.
    open var countOfResponseHeaderBytesReceived: Int64 { hop.statistics?.responseHeadSize ?? 0 }

    /// The answer's body as it came, compressed or not, without the framing of chunks.
    open var countOfResponseBodyBytesReceived: Int64 {
        hop.statistics?.responseBodySize ?? (hop.source == .other ? hop.receivedBodySize : 0)
    }

    /// The answer's body, decoded.
    open var countOfResponseBodyBytesAfterDecoding: Int64 { hop.receivedBodySize }

    /// The transaction in a line.
    open override var description: String {
        let method = request.httpMethod ?? "GET"
        let status = (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "no response"
        let name = networkProtocolName ?? "\(resourceFetchType)"
        let connection = isReusedConnection ? "used again" : remoteAddress ?? "no address"
        let bytes = "\(countOfRequestBodyBytesSent) bytes up, \(countOfResponseBodyBytesReceived) down"
        return "\(method) \(request.url?.absoluteString ?? "?"): \(status), \(name), \(connection), \(bytes)"
    }
}
