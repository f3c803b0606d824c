import CurlTransport

/// The keys that weren't found in a cache lately. A value.
struct AbsentKeys {
    private var keys: Set<String> = []
    private var epoch = MonotonicTime.now

    /// How long other users' changes to the cache may go unnoticed.
    private static let epochLength = Duration.seconds(1)
    private static let maximumCount = 10_000

    /// Forgets the keys if an epoch has passed, since others may have stored something meanwhile. Returns true if so.
    mutating func beginEpoch(at now: MonotonicTime) -> Bool {
        guard now - epoch >= Self.epochLength else { return false }
        epoch = now
        keys.removeAll(keepingCapacity: true)
        return true
    }

    func contains(_ key: String) -> Bool { keys.contains(key) }

    /// Has no effect if there are too many.
    mutating func insert(_ key: String) {
        if keys.count < Self.maximumCount { keys.insert(key) }
    }

    mutating func remove(_ key: String) { keys.remove(key) }
}
