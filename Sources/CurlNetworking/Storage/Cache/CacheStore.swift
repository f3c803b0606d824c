import CurlTransport
import Foundation

/// What is known about a stored response without waiting for the cache.
enum CacheFinding {
    case known(StoredResponse?)
    /// Call `lookUp`.
    case unknown
}

/// A cache as used by sessions on their loops, without ever waiting for it. Any thread, unless noted otherwise.
protocol CacheStore: AnyObject, Sendable {
    /// The largest body that is stored, in bytes.
    var sizeLimit: Int { get }

    var revalidations: Revalidations { get }

    var pendingResponses: PendingResponses { get }

    /// What is known without asking the cache. `isInsistent` is whether the request can't do without the cache. Loop; never blocks.
    func find(_ key: String, now: MonotonicTime, isInsistent: Bool) -> CacheFinding

    /// Asks the cache. `completion` is called on a queue of the store.
    func lookUp(_ key: String, for request: URLRequest, completion: @escaping @Sendable (StoredResponse?) -> Void)

    /// Stores `response` soon. If it returns true, the caller should wait: `completion` is called on a queue of the store once the response
    /// is written.
    func store(_ response: StoredResponse, orWait completion: @escaping @Sendable () -> Void) -> Bool

    /// Stores `response` soon.
    func store(_ response: StoredResponse)

    /// Removes what is stored for `url`, and what is in flight from there.
    func remove(_ url: URL)

    /// Removes everything, including what is in flight. Blocks: not on a loop.
    func removeAll()

    /// Returns when all pending writes are done. Blocks: not on a loop.
    func waitForWrites()
}

/// The stores of the caches that sessions use.
enum CacheStores {
    /// The longest look-up: a cache that takes longer may be on a file system that doesn't respond.
    static let lookupTimeout = Duration.seconds(10)
    /// The longest that a complete task waits for its response to be written.
    static let storeTimeout = Duration.seconds(1)

    static func store(over cache: URLCache) -> any CacheStore {
        (cache as? CurlURLCache)?.responses ?? StockCacheStore.store(over: cache)
    }
}
