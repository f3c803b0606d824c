import CurlNetworkingLocks

/// The stored responses of a cache that are being revalidated in the background (RFC 5861 §3): one request at a time for each URL. Any
/// thread.
final class Revalidations: Sendable {
    private let keys = Mutex<Set<String>>([])
    /// At once. Further ones are left to the next task that uses the response.
    private static let maximum = 64

    /// False if one for `key` is under way already. If true, call `end`.
    func begin(_ key: String) -> Bool {
        keys.withLock { keys in keys.count < Self.maximum && keys.insert(key).inserted }
    }

    func end(_ key: String) {
        keys.withLock { _ = $0.remove(key) }
    }
}
