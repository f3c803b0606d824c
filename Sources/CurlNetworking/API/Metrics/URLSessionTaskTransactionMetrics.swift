import Foundation

/// The metrics of one request of a task and its response.
///
/// A date is nil if the event didn't happen: on a reused connection, there is no name resolution, connection set-up or TLS handshake. Dates
/// are accurate to a microsecond relative to ``fetchStartDate``.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiontasktransactionmetrics>
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    // @unchecked: never changes.
    private let hop: HopMetrics

    init(_ hop: HopMetrics) {
        self.hop = hop
    }

    /// The request.
    open var request: URLRequest { hop.request }

    /// The response; nil if there was none.
    open var response: URLResponse? { hop.madeResponse }

    // MARK: - Dates

    /// The time the transport received the request, after the wait for a free connection.
    open var fetchStartDate: Date? { hop.start }

    /// The time name resolution began.
    open var domainLookupStartDate: Date? { hop.domainLookupStart }

    /// The time the host's address was known.
    open var domainLookupEndDate: Date? { hop.domainLookupEnd }

    /// The time connecting began.
    open var connectStartDate: Date? { hop.connectStart }

    /// The time the TLS handshake began.
    open var secureConnectionStartDate: Date? { hop.secureConnectionStart }

    /// The time the TLS handshake ended.
    open var secureConnectionEndDate: Date? { hop.secureConnectionEnd }

    /// The time the connection was established, including TLS.
    open var connectEndDate: Date? { hop.connectEnd }

    /// The time sending the request began.
    open var requestStartDate: Date? { hop.requestStart }

    /// The time the request's last byte was handed to the transport or, with libcurl 8.10, sent.
    open var requestEndDate: Date? { hop.requestEnd }

    /// The time the response's first byte arrived.
    open var responseStartDate: Date? { hop.responseStart }

    /// The time the response was complete or broke off.
    open var responseEndDate: Date? { hop.responseEnd }

    // MARK: - Connection

    /// The protocol, as an ALPN identifier such as `http/1.1` or `h2`; nil if there was no response.
    open var networkProtocolName: String? { hop.statistics?.applicationProtocol }

    /// Whether the request went through a proxy of any kind. See <doc:Proxies>.
    open var isProxyConnection: Bool { hop.isProxyConnection }

    /// Whether the connection had been opened for an earlier request.
    open var isReusedConnection: Bool { hop.isReusedConnection }

    /// The source of the response.
    open var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType {
        switch hop.source {
        case .network: .networkLoad
        case .cache: .localCache
        case .other: .unknown
        }
    }

    /// Always unknown, since the system doesn't say.
    open var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol { .unknown }

    // MARK: - Addresses

    /// The local address in numeric form.
    open var localAddress: String? { hop.statistics?.localAddress }

    /// The local port.
    open var localPort: String? { hop.statistics?.localPort.map(String.init) }

    /// The remote address in numeric form: the server's or a proxy's.
    open var remoteAddress: String? { hop.statistics?.remoteAddress }

    /// The remote port.
    open var remotePort: String? { hop.statistics?.remotePort.map(String.init) }

    /// The negotiated TLS version; nil without TLS, or if libcurl doesn't use OpenSSL.
    open var negotiatedTLSProtocolVersion: tls_protocol_version_t? {
        hop.tls.flatMap { tls_protocol_version_t(rawValue: $0.protocolVersion) }
    }

    /// The negotiated TLS cipher suite; nil without TLS, if libcurl doesn't use OpenSSL, or for suites without a case.
    open var negotiatedTLSCipherSuite: tls_ciphersuite_t? {
        hop.tls.flatMap { tls_ciphersuite_t(rawValue: $0.cipherSuite) }
    }

    /// Always false: Linux doesn't distinguish networks.
    open var isCellular: Bool { false }

    /// Always false: Linux doesn't distinguish networks.
    open var isExpensive: Bool { false }

    /// Always false: Linux doesn't distinguish networks.
    open var isConstrained: Bool { false }

    /// Always false: connections use plain TCP.
    open var isMultipath: Bool { false }

    // MARK: - Sizes, in bytes

    /// The size of the request's head in HTTP/1.1 form; HTTP/2 compresses it.
    open var countOfRequestHeaderBytesSent: Int64 { hop.statistics?.requestHeadSize ?? 0 }

    /// The number of the request body's bytes that were handed to the transport, including those that were sent in vain and then again.
    open var countOfRequestBodyBytesSent: Int64 { hop.sentBodySize }

    /// The size of the request's body before encoding; the same as that sent, since request bodies are never encoded.
    open var countOfRequestBodyBytesBeforeEncoding: Int64 { hop.sentBodySize }

    /// The size of the response's heads in HTTP/1.1 form, including informational responses and trailers.
    open var countOfResponseHeaderBytesReceived: Int64 { hop.statistics?.responseHeadSize ?? 0 }

    /// The size of the response's body as received, possibly compressed, without chunk framing.
    open var countOfResponseBodyBytesReceived: Int64 {
        hop.statistics?.responseBodySize ?? (hop.source == .other ? hop.receivedBodySize : 0)
    }

    /// The size of the decoded response body.
    open var countOfResponseBodyBytesAfterDecoding: Int64 { hop.receivedBodySize }

    /// The transaction on one line.
    open override var description: String {
        let method = request.httpMethod ?? "GET"
        let status = (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "no response"
        let name = networkProtocolName ?? "\(resourceFetchType)"
        let connection = isReusedConnection ? "used again" : remoteAddress ?? "no address"
        let bytes = "\(countOfRequestBodyBytesSent) bytes up, \(countOfResponseBodyBytesReceived) down"
        return "\(method) \(request.url?.absoluteString ?? "?"): \(status), \(name), \(connection), \(bytes)"
    }
}
