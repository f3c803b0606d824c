import Curl
import Foundation

/// What is known of a response in a cache without waiting for it.
enum CacheFinding {
    case known(StoredResponse?)
    /// `look` tells.
    case unknown
}

/// A cache as its sessions use it: from their loops, without ever waiting for it. Any thread, but for what says otherwise.
protocol CacheStore: AnyObject, Sendable {
    /// The largest body that is stored, in bytes.
    var sizeLimit: Int { get }

    var revalidations: Revalidations { get }

    /// What is known without asking the cache. `isInsistent` is for requests that rely on it. Loop; never blocks.
    func find(_ key: String, now: MonotonicTime, isInsistent: Bool) -> CacheFinding

    /// Asks the cache. `completion` is called on a queue of the store's.
    func look(_ key: String, at url: URL, completion: @escaping @Sendable (StoredResponse?) -> Void)

    /// Stores `response` soon. True where the caller had better wait: then `completion` is called once it is written, on a queue of the
    /// store's.
    func store(_ response: StoredResponse, orWait completion: @escaping @Sendable () -> Void) -> Bool

    /// Stores `response` soon.
    func store(_ response: StoredResponse)

    /// Forgets what is stored for `url`.
    func remove(_ url: URL)

    /// Forgets everything. Blocks, and so is not for a loop.
    func removeAll()

    /// Returns when everything has been written that was to be. Blocks, and so is not for a loop.
    func waitForWrites()
}

/// Who serves the sessions that use a cache.
enum CacheStores {
    static func store(over cache: URLCache) -> any CacheStore {
        (cache as? CurlURLCache)?.responses ?? StockCacheStore.store(over: cache)
    }
}
