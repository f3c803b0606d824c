import CurlTransport
import Foundation

/// Metrics of one hop of a task: one request and its response.
///
/// Raw numbers, cheap to gather; interpreted only when requested.
struct HopMetrics: Sendable {
    enum Source: Sendable {
        case network
        case cache
        /// A program's own protocol class, or anything else that isn't HTTP.
        case other
    }

    private(set) var request: URLRequest
    /// According to the request's own URL; the one shown to the program may differ.
    private let isSecure: Bool
    let source: Source
    let start: Date
    /// nil for network hops, whose end libcurl knows better.
    var end: Date?
    /// nil except for network hops.
    var statistics: TransferStatistics?
    var tls: TLSSession?
    var isProxyConnection = false
    var head: ResponseHead?
    /// nil if it has to be made from `head`.
    var response: TaskResponse?
    /// When the latest part of the request's body was handed to libcurl.
    var bodySent: Date?
    /// In bytes.
    var sentBodySize: Int64 = 0
    /// In bytes, decoded.
    var receivedBodySize: Int64 = 0

    init(_ request: URLRequest, source: Source = .network, start: Date = Date()) {
        self.request = request
        isSecure = request.url.flatMap(Scheme.init)?.isSecure ?? false
        self.source = source
        self.start = start
    }
}

/// Gathers the metrics of a hop that is under way. A class, so that transfers without one, which are most, stay small. Loop only.
final class HopMeter {
    var metrics: HopMetrics
    /// When the response's head arrived.
    private var answered: Date?

    init(_ metrics: HopMetrics) {
        self.metrics = metrics
    }

    /// The response's head has arrived. `session` is nil without TLS.
    func noteAnswer(over session: TLSSession?) {
        metrics.tls = session
        answered = Date()
    }

    /// - Parameters:
    ///   - arrived: How much of the response's body has arrived, in bytes: libcurl doesn't count those that arrive together with bytes it
    ///     can't parse.
    ///   - sentBody: Whether the request has a body: then libcurl's own figure of the response's start is when it began to send that.
    func note(_ statistics: TransferStatistics, arrived: Int64, sentBody: Bool) {
        var statistics = statistics
        statistics.noteBody(arrived)
        if sentBody {
            statistics.responseStarted = answered.map { .seconds($0.timeIntervalSince(metrics.start)) }
        }
        metrics.statistics = statistics
    }
}

/// Metrics of a finished task.
struct TaskMetrics: Sendable {
    var hops: [HopMetrics]
    var interval: DateInterval
    var redirectCount: Int
}

// MARK: - The connection

extension HopMetrics {
    /// Whether the hop had a connection that an earlier one had opened, even if the request wasn't sent over it in the end, as when it was
    /// kept off. Unix sockets have no addresses.
    var isReusedConnection: Bool {
        guard let statistics, statistics.newConnections == 0 else { return false }
        return statistics.requestStarted != nil || statistics.remoteAddress != nil
    }

    /// The response as the task or its delegate got it, or would have got it.
    var madeResponse: URLResponse? {
        if let response { return response.object }
        guard let head, let url = request.url else { return nil }
        return head.response(at: url)
    }

    /// Shows the request's URL as the program knows it, but keeps `madeResponse` and everything else.
    mutating func showRequest(by shown: (URL) -> URL) {
        if response == nil, let head, let url = request.url { response = TaskResponse(head, at: url) }
        request.url = request.url.map(shown)
    }
}

// MARK: - The dates

extension HopMetrics {
    /// nil on a reused connection: no lookup and no connecting.
    private var connecting: TransferStatistics? { isReusedConnection ? nil : statistics }

    var domainLookupStart: Date? { connecting == nil ? nil : start }
    var domainLookupEnd: Date? { date(connecting?.nameLookedUp) }
    var connectStart: Date? { domainLookupEnd }
    /// With TLS, the connection counts as established when TLS is.
    var connectEnd: Date? { isSecure ? secureConnectionEnd : date(connecting?.connected) }
    var secureConnectionStart: Date? { isSecure ? date(connecting?.connected) : nil }
    var secureConnectionEnd: Date? { isSecure ? date(connecting?.secured) : nil }

    var requestStart: Date? {
        guard source == .network else { return start }
        // libcurl may still have the time of an earlier attempt, on a connection that is gone.
        return date(statistics?.requestStarted).map { max($0, connectEnd ?? $0) }
    }

    /// If libcurl doesn't report it, a request without a body ends at its start, and one with a body when its last byte was handed over.
    /// libcurl notes it when it next looks at the transfer, which may have its answer by then (seen with 8.14).
    var requestEnd: Date? {
        guard let requestStart, let sent = date(statistics?.requestSent) ?? bodySent else { return self.requestStart }
        return max(requestStart, min(sent, responseStart ?? sent))
    }

    var responseStart: Date? {
        guard source == .network else { return response == nil ? nil : start }
        return hasResponse ? date(statistics?.responseStarted).map { max($0, requestStart ?? $0) } : nil
    }

    /// Needed because libcurl also takes the end of a connection for the first byte.
    private var hasResponse: Bool {
        head != nil || statistics.map { $0.responseHeadSize > 0 || $0.responseBodySize > 0 } ?? false
    }

    var responseEnd: Date? {
        guard let responseStart else { return nil }
        // The system's clock may have been set back meanwhile.
        guard source == .network else { return end.map { max(start, $0) } }
        // The times are from different clocks.
        return date(statistics?.total).map { max(responseStart, $0) }
    }

    private func date(_ time: Duration?) -> Date? {
        time.map { start.addingTimeInterval($0 / .seconds(1)) }
    }
}
