import CurlTransport
import Foundation

/// A response on its way into the cache, while its body is collected.
enum CacheWrite {
    case none
    case gathering(Entry)
    /// The task waits for it until the deadline.
    case underWay(until: Deadline)

    struct Entry {
        let head: ResponseHead
        let request: URLRequest
        let received = Date()
        /// In bytes.
        let limit: Int
        var storagePolicy = URLCache.StoragePolicy.allowed
    }
}
