import CurlTransport
import Foundation

/// The metrics of a request and its response on a channel, since libcurl knows only the connection. Loop only.
struct ExchangeLog {
    /// nil if they aren't wanted.
    private(set) var metrics: HopMetrics?
    private let begin: MonotonicTime
    private var sent: MonotonicTime?
    private var answered: MonotonicTime?
    private var headSizes = (request: 0, response: 0)
    private var arrivedBodySize: Int64 = 0

    init(_ metrics: HopMetrics?, at now: MonotonicTime) {
        self.metrics = metrics
        begin = now
    }

    mutating func opened(_ channel: Channel, requestHeadSize: Int, at now: MonotonicTime) {
        guard metrics != nil else { return }
        (sent, headSizes.request) = (now, requestHeadSize)
        metrics?.tls = channel.tlsSession
    }

    /// - Parameter total: The length of the request's body, in bytes.
    mutating func sent(body total: Int64) {
        guard metrics != nil else { return }
        metrics?.sentBodySize = total
        metrics?.bodySent = Date()
    }

    mutating func answered(at now: MonotonicTime) {
        answered = answered ?? now
    }

    mutating func head(_ head: ResponseHead, size: Int) {
        metrics?.head = head
        headSizes.response = size
    }

    /// - Parameter count: The number of further bytes of the decoded body.
    mutating func received(body count: Int) {
        metrics?.receivedBodySize += Int64(count)
    }

    /// - Parameter total: How much of the response's body has arrived, in bytes, before it is decoded.
    mutating func arrived(body total: Int64) {
        arrivedBodySize = total
    }

    /// Takes libcurl's statistics while they exist.
    mutating func settle(_ channel: Channel, at now: MonotonicTime) {
        guard metrics != nil, var statistics = channel.statistics else { return }
        statistics.noteExchange(sent: sent.map { $0 - begin }, answered: answered.map { $0 - begin }, end: now - begin)
        // A request without a body is sent at once.
        statistics.requestSent = metrics?.bodySent == nil ? statistics.requestStarted : nil
        statistics.newConnections = 1
        statistics.applicationProtocol = metrics?.head == nil ? nil : "http/1.1"
        statistics.requestHeadSize = Int64(headSizes.request)
        statistics.responseHeadSize = Int64(headSizes.response)
        statistics.responseBodySize = arrivedBodySize
        metrics?.statistics = statistics
    }
}
