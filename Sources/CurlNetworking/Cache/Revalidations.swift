import Locks

/// Which stored responses of a cache are being brought up to date beside the tasks that got them (RFC 5861 §3): one request for each URL at a
/// time, however many tasks there are. Any thread.
final class Revalidations: Sendable {
    private let keys = Mutex<Set<String>>([])
    /// What is due beyond that waits for the next task that asks.
    private static let maximum = 64

    /// False where one for `key` is under way already: else `end` must follow.
    func begin(_ key: String) -> Bool {
        keys.withLock { keys in keys.count < Self.maximum && keys.insert(key).inserted }
    }

    func end(_ key: String) {
        keys.withLock { _ = $0.remove(key) }
    }
}
