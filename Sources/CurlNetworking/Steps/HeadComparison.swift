import CurlTransport
import Foundation

/// Compares the response to a HEAD with the one that is stored for a GET, which is dropped if it turns out to be outdated (RFC 9111
/// §4.3.5).
///
/// If the cache has to be asked for the stored one, the task gets its response only afterwards: the program's next request must find
/// nothing older.
///
/// `@unchecked Sendable`: used on the loop only.
final class HeadComparison: @unchecked Sendable {
    /// Holds the response until the cache has answered, but no longer than until the deadline.
    let held = HoldToken()
    private let received: ReceivedHead
    /// nil once it is over.
    private var deadline: Deadline?

    private init(_ received: ReceivedHead) {
        self.received = received
    }

    /// nil if the response needn't wait.
    static func begin(_ received: ReceivedHead, _ context: any StepContext) -> HeadComparison? {
        var request = received.request
        guard CacheStorability.describesGet(request, status: received.head.status),
            let cache = context.session.settings.cache, let url = request.url, let scheme = Scheme(url), scheme.isHTTP,
            !scheme.isUnixSocket
        else { return nil }
        let comparison = HeadComparison(received)
        let key = StoredResponse.key(of: url)
        if case .known(let stored) = cache.find(key, now: context.pool.loop.now, isInsistent: false) {
            comparison.drop(stored, context)
            return nil
        }
        comparison.setDeadline(context)
        request.httpMethod = "GET"
        cache.lookUp(key, for: request) { stored in
            context.owner.submit { comparison.end(with: stored, context) }
        }
        return comparison
    }

    private func setDeadline(_ context: any StepContext) {
        let deadline = Deadline { [weak self, weak context] in if let self, let context { end(with: nil, context) } }
        self.deadline = deadline
        context.schedule(deadline, after: CacheStores.lookupTimeout)
    }

    /// The cache has answered, which may no longer matter, or takes too long.
    private func end(with stored: StoredResponse?, _ context: any StepContext) {
        guard deadline != nil else { return }
        stop(context)
        drop(stored, context)
        context.release(held, .pass)
    }

    /// Drops `stored` if a GET with the fields of the HEAD would be answered by it, and would get another response from the server.
    private func drop(_ stored: StoredResponse?, _ context: any StepContext) {
        let sent = SentFields(sent: received.request, context)
        guard let stored, CacheFields.isOther(received.head, than: stored.head), stored.isVariant(of: sent),
            let url = received.request.url
        else { return }
        context.session.settings.cache?.remove(url)
    }

    func stop(_ context: any StepContext) {
        if let deadline = deadline.take() { context.cancel(deadline) }
    }
}
