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

    /// The response whose body is gathered, which ends with this; nil if there is none.
    mutating func takeEntry() -> Entry? {
        guard case .gathering(let entry) = self else { return nil }
        self = .none
        return entry
    }

    /// The deadline of a task that waits, which ends with this; nil if none does.
    mutating func takeDeadline() -> Deadline? {
        guard case .underWay(let deadline) = self else { return nil }
        self = .none
        return deadline
    }
}
