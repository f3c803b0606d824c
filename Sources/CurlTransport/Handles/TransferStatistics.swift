import CCurlNetworkingLibcurl

/// libcurl's measurements of one transfer.
///
/// Times are measured from the transfer's start; nil if the transfer didn't get that far, or had no such stage.
package struct TransferStatistics: Sendable, Equatable, Codable {
    package var nameLookedUp: Duration?
    /// When the TCP connection was established.
    package var connected: Duration?
    /// When the TLS handshake was complete.
    package var secured: Duration?
    /// When the request's first byte was about to be sent.
    package var requestStarted: Duration?
    /// When its last byte was sent; libcurl 8.10 and newer.
    package var requestSent: Duration?
    /// When the response's first byte had arrived.
    package var responseStarted: Duration?
    package var total = Duration.zero

    /// How many connections were opened for the transfer; also 0 if it never got that far.
    package var newConnections = 0
    /// The protocol spoken, as its ALPN identifier (RFC 7301): "http/1.1", "h2" and so on.
    package var applicationProtocol: String?

    /// The connection's peer, which may be a proxy.
    package var remoteAddress: String?
    package var remotePort: Int?
    package var localAddress: String?
    package var localPort: Int?

    /// In bytes, as HTTP/1.1 would write them.
    package var requestHeadSize: Int64 = 0
    /// In bytes, informational heads and trailers included, as HTTP/1.1 would write them.
    package var responseHeadSize: Int64 = 0
    /// In bytes, before the content is decoded.
    package var responseBodySize: Int64 = 0

    package init() {}

    /// Notes that at least `count` bytes of the response's body were passed on.
    package mutating func noteBody(_ count: Int64) {
        responseBodySize = max(responseBodySize, count)
    }

    /// Adds what happened on a connection that libcurl only established. The times are the event loop's, whose clock stands still during a
    /// round while libcurl's runs on: no stage is earlier than the one before it.
    package mutating func noteExchange(sent: Duration?, answered: Duration?, end: Duration) {
        let ready = secured ?? connected ?? .zero
        requestStarted = sent.map { max($0, ready) }
        responseStarted = answered.map { max($0, requestStarted ?? ready) }
        total = max(end, responseStarted ?? requestStarted ?? ready)
    }
}

extension TransferInfo {
    /// libcurl's measurements so far. Outside of libcurl.
    package var statistics: TransferStatistics {
        var statistics = TransferStatistics()
        readTimes(into: &statistics)
        readAddresses(into: &statistics)
        statistics.newConnections = long(CURLINFO_NUM_CONNECTS)
        statistics.applicationProtocol = applicationProtocol
        statistics.requestHeadSize = Int64(long(CURLINFO_REQUEST_SIZE))
        statistics.responseHeadSize = Int64(long(CURLINFO_HEADER_SIZE))
        statistics.responseBodySize = offset(CURLINFO_SIZE_DOWNLOAD_T)
        return statistics
    }

    private func readTimes(into statistics: inout TransferStatistics) {
        statistics.nameLookedUp = time(offset(CURLINFO_NAMELOOKUP_TIME_T))
        statistics.connected = time(offset(CURLINFO_CONNECT_TIME_T))
        statistics.secured = time(offset(CURLINFO_APPCONNECT_TIME_T))
        statistics.requestStarted = time(requestTime(CURLINFO_PRETRANSFER_TIME_T))
        if CurlLibrary.reportsRequestSent {
            statistics.requestSent = time(requestTime(CURLINFO(UInt32(CLIBCURL_INFO_POSTTRANSFER_TIME_T))))
            // libcurl notes the start after the first send, which may have sent the whole request.
            statistics.requestStarted = [statistics.requestStarted, statistics.requestSent].compactMap(\.self).min()
        }
        statistics.responseStarted = time(requestTime(CURLINFO_STARTTRANSFER_TIME_T))
        statistics.total = time(offset(CURLINFO_TOTAL_TIME_T)) ?? .zero
    }

    /// libcurl counts microseconds; 0 means that the transfer didn't get that far.
    private func time(_ microseconds: Int64) -> Duration? {
        microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// For a Unix socket libcurl returns part of the path, and the URL's port; neither is an address.
    private func readAddresses(into statistics: inout TransferStatistics) {
        guard let address = string(CURLINFO_PRIMARY_IP), address.isNumericAddress else { return }
        statistics.remoteAddress = address
        statistics.remotePort = port(CURLINFO_PRIMARY_PORT)
        statistics.localAddress = string(CURLINFO_LOCAL_IP)
        statistics.localPort = port(CURLINFO_LOCAL_PORT)
    }

    private func port(_ which: CURLINFO) -> Int? {
        let port = long(which)
        return port > 0 ? port : nil
    }

    private var applicationProtocol: String? {
        switch long(CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): "http/1.0"
        case Int(CURL_HTTP_VERSION_1_1): "http/1.1"
        case Int(CURL_HTTP_VERSION_2_0): "h2"
        case Int(CURL_HTTP_VERSION_3): "h3"
        default: nil
        }
    }
}
