import CurlTransport
import Foundation

/// How long a task took, with the hops of all attempts.
struct MetricsDescription: Codable, Sendable, Equatable {
    var start: Date
    var end: Date
    var redirectCount: Int
    private(set) var hops: [HopDescription]

    /// An agent may try for days, so only the last hops are kept.
    static let maximumHops = 50
    /// In seconds: a century, the longest time-out.
    private static let longest: TimeInterval = 100 * 366 * 24 * 60 * 60

    init(_ metrics: TaskMetrics) {
        start = metrics.interval.start
        end = metrics.interval.end
        redirectCount = metrics.redirectCount
        hops = metrics.hops.suffix(Self.maximumHops).compactMap(HopDescription.init)
    }

    /// Adds another attempt.
    mutating func add(_ next: MetricsDescription) {
        end = next.end
        redirectCount = next.redirectCount
        hops = Array((hops + next.hops).suffix(Self.maximumHops))
    }

    var metrics: TaskMetrics {
        // Dates may be any number, or not even that.
        let duration = end.timeIntervalSince(start)
        return TaskMetrics(
            hops: hops.map(\.hop),
            interval: DateInterval(start: start, duration: (0...Self.longest).contains(duration) ? duration : 0),
            redirectCount: max(0, redirectCount)
        )
    }
}

/// One request and its response. The request's body is left out.
struct HopDescription: Codable, Sendable, Equatable {
    var request: RequestDescription
    var start: Date
    var statistics: TransferStatistics?
    var tls: TLSSession?
    var isProxyConnection: Bool
    var head: ResponseHead?
    var bodySent: Date?
    /// In bytes.
    var sentBodySize: Int64
    var receivedBodySize: Int64

    /// nil for a request without a URL.
    init?(_ hop: HopMetrics) {
        guard var request = RequestDescription(hop.request) else { return nil }
        request.body = nil
        self.request = request
        start = hop.start
        statistics = hop.statistics
        tls = hop.tls
        isProxyConnection = hop.isProxyConnection
        head = hop.head
        bodySent = hop.bodySent
        sentBodySize = hop.sentBodySize
        receivedBodySize = hop.receivedBodySize
    }

    var hop: HopMetrics {
        var hop = HopMetrics(request.request, start: start)
        hop.statistics = statistics
        hop.tls = tls
        hop.isProxyConnection = isProxyConnection
        hop.head = head
        hop.bodySent = bodySent
        hop.sentBodySize = sentBodySize
        hop.receivedBodySize = receivedBodySize
        return hop
    }
}
