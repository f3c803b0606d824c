/// Decides when a multi's connections, and libcurl's handle, have been idle for long enough. A pure value: the caller supplies the time.
struct IdleClock {
    /// How long connections are kept when there are no transfers.
    let lifetime: Duration
    /// How many connections are open, as far as libcurl has reported.
    private(set) var connectionCount = 0
    /// When the last transfer or connection ended.
    private var since = MonotonicTime(nanoseconds: 0)

    /// How long the handle is kept without connections: a program that makes one request after another keeps it, and with it libcurl's
    /// cache of resolved addresses.
    static let emptyLifetime = Duration.seconds(1)

    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    mutating func connectionBegan() {
        connectionCount += 1
    }

    mutating func connectionEnded() {
        connectionCount = max(0, connectionCount - 1)
    }

    mutating func closed() {
        connectionCount = 0
    }

    mutating func start(at now: MonotonicTime) {
        since = now
    }

    /// When everything may be closed if nothing happens until then.
    var end: MonotonicTime { since + (connectionCount == 0 ? min(lifetime, Self.emptyLifetime) : lifetime) }
}
