import Foundation
import CurlNetworkingLocks

/// A task's metrics, request by request.
///
/// A delegate receives them in `urlSession(_:task:didFinishCollecting:)`. Nothing is collected if neither the task nor its session has a
/// delegate.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiontaskmetrics>
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    // @unchecked: `metrics` never changes and `transactions` guards itself.
    let metrics: TaskMetrics
    /// Created on first use: many delegates never use it.
    private let transactions = Mutex<[URLSessionTaskTransactionMetrics]?>(nil)

    init(_ metrics: TaskMetrics) {
        self.metrics = metrics
    }

    /// One for each request that the task made, in order: each redirect, answer to a challenge and retry adds one, but for those that are
    /// repeated because a kept connection turned out to be closed.
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

    /// From the creation of the task to its end.
    open var taskInterval: DateInterval { metrics.interval }

    /// How many redirects the task has followed.
    open var redirectCount: Int { metrics.redirectCount }

    /// The task and its transactions, one per line.
    open override var description: String {
        let milliseconds = Int((taskInterval.duration * 1000).rounded())
        let lines = ["\(milliseconds) ms, \(redirectCount) redirects"] + transactionMetrics.map(\.description)
        return lines.joined(separator: "\n")
    }

    /// Where a response came from.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontaskmetrics/resourcefetchtype>
    public enum ResourceFetchType: Int, Sendable {
        /// From the program's own ``URLProtocol``, an FTP server, a file or the URL itself.
        case unknown
        /// From the network.
        case networkLoad
        /// Pushed by the server before it was asked for; never on Linux.
        @available(swift, deprecated: 6.1, message: "Server push is not supported")
        case serverPush
        /// From the cache.
        case localCache
    }

    /// How a host's name was resolved.
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
