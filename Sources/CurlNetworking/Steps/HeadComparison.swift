import CurlTransport
import Foundation

/// Compares the response to a HEAD with the one that is stored for a GET, which is dropped if it turns out to be old (RFC 9111 §4.3.5).
///
/// Where the cache has to be asked for that one, the task gets its response only afterwards: the program's next request must find nothing older.
///
/// `@unchecked Sendable`: used on the loop only.
final class HeadComparison: @unchecked Sendable {
    /// Holds the response until the cache has answered, but no longer than to the deadline.
    let held = HeldResponse()
    private let received: ReceivedHead
    /// nil once it is over.
    private var deadline: Deadline?

    private init(_ received: ReceivedHead) {
        self.received = received
    }

    /// nil if the response needn't wait.
    static func begin(_ received: ReceivedHead, _ host: any StepHost) -> HeadComparison? {
        var request = received.request
        guard CacheStorability.describesGet(request, status: received.head.status),
            let cache = host.session.settings.cache, let url = request.url, let scheme = Scheme(url), scheme.isHTTP,
            !scheme.isUnixSocket
        else { return nil }
        let comparison = HeadComparison(received)
        let key = StoredResponse.key(of: url)
        if case .known(let stored) = cache.find(key, now: host.pool.loop.now, isInsistent: false) {
            comparison.drop(stored, host)
            return nil
        }
        comparison.setDeadline(host)
        request.httpMethod = "GET"
        cache.lookUp(key, for: request) { stored in
            host.owner.submit { comparison.end(with: stored, host) }
        }
        return comparison
    }

    private func setDeadline(_ host: any StepHost) {
        let deadline = Deadline { [weak self, weak host] in if let self, let host { end(with: nil, host) } }
        self.deadline = deadline
        host.pool.loop.schedule(deadline, at: host.pool.loop.now + CacheStores.lookupTimeout)
    }

    /// The cache has answered, which may no longer matter, or takes too long.
    private func end(with stored: StoredResponse?, _ host: any StepHost) {
        guard deadline != nil else { return }
        stop(host)
        drop(stored, host)
        host.release(held, .pass)
    }

    /// Drops `stored` if a GET with the fields of the HEAD would be answered by it, and would get another response from the server.
    private func drop(_ stored: StoredResponse?, _ host: any StepHost) {
        let sent = SentFields(received.request, cookies: host.steps.cookies?.field, isSent: true, host)
        guard let stored, CacheFields.isOther(received.head, than: stored.head), stored.isVariant(of: sent),
            let url = received.request.url
        else { return }
        host.session.settings.cache?.remove(url)
    }

    func stop(_ host: any StepHost) {
        if let deadline = deadline.take() { host.pool.loop.cancel(deadline) }
    }
}
