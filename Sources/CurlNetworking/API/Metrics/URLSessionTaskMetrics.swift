import Foundation
import CurlNetworkingLocks

/// The metrics of a task, request by request.
///
/// A delegate receives the metrics in `urlSession(_:task:didFinishCollecting:)`. Nothing is collected if neither the task nor its session
/// has a delegate.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiontaskmetrics>
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    // @unchecked: `metrics` never changes and `transactions` has its own lock.
    let metrics: TaskMetrics
    /// Created on first use, since many delegates never use it.
    private let transactions = Mutex<[URLSessionTaskTransactionMetrics]?>(nil)

    init(_ metrics: TaskMetrics) {
        self.metrics = metrics
    }

    /// The metrics of each request that the task made, in order. Each redirect, answer to a challenge and retry adds an entry, except for
    /// retries after a kept connection turned out to be closed.
    ///
    /// Empty for a task that ended before its first request. Of more than 60, the first 10 and the last 50 are kept.
    open var transactionMetrics: [URLSessionTaskTransactionMetrics] {
        transactions.withLock { transactions in
            if let transactions { return transactions }
            let made = metrics.hops.map(URLSessionTaskTransactionMetrics.init)
            transactions = made
            return made
        }
    }

    /// The time from the task's creation to its end.
    open var taskInterval: DateInterval { metrics.interval }

    /// The number of redirects that the task followed.
    open var redirectCount: Int { metrics.redirectCount }

    /// The task and its transactions, one per line.
    open override var description: String {
        let milliseconds = Int((taskInterval.duration * 1000).rounded())
        let lines = ["\(milliseconds) ms, \(redirectCount) redirects"] + transactionMetrics.map(\.description)
        return lines.joined(separator: "\n")
    }

    /// The source of a response.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontaskmetrics/resourcefetchtype>
    public enum ResourceFetchType: Int, Sendable {
        /// From the program's own ``URLProtocol``, an FTP server, a file or the URL itself.
        case unknown
        /// From the network.
        case networkLoad
        /// Pushed by the server before it was requested; never on Linux.
        @available(swift, deprecated: 6.1, message: "Server push is not supported")
        case serverPush
        /// From the cache.
        case localCache
    }

    /// The protocol that resolved a host's name.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontaskmetrics/domainresolutionprotocol>
    public enum DomainResolutionProtocol: Int, Sendable {
        /// By the system, which doesn't say how.
        case unknown
        /// By DNS over UDP.
        case udp
        /// By DNS over TCP.
        case tcp
        /// By DNS over TLS.
        case tls
        /// By DNS over HTTPS.
        case https
    }
}
