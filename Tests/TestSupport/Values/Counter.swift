import CurlNetworkingLocks

/// A number guarded by a lock, for scripts that count their requests.
package final class Counter: Sendable {
    private let value = Mutex(0)

    package init() {}

    /// From 1.
    package func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
