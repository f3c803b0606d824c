import CurlNetworkingLocks

/// The stored responses of a cache that are being revalidated in the background (RFC 5861 §3): one request at a time for each URL. Any
/// thread.
final class Revalidations: Sendable {
    private let keys = Mutex<Set<String>>([])
    /// The most at once: more could fill the session's places with requests that no task waits for.
    private static let maximum = 64

    enum Beginning {
        /// Has to be followed by `end`.
        case begun
        /// There is one for the same URL.
        case isUnderWay
        /// There are as many as allowed.
        case isFull
    }

    func begin(_ key: String) -> Beginning {
        keys.withLock { keys in
            if keys.contains(key) { return .isUnderWay }
            guard keys.count < Self.maximum else { return .isFull }
            keys.insert(key)
            return .begun
        }
    }

    func end(_ key: String) {
        keys.withLock { _ = $0.remove(key) }
    }
}
