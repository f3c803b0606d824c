/// How long to wait before the next try: longer each time, up to a bound, and never exactly as long as others who failed at
/// the same moment.
struct RetryBackoff: Sendable {
    private(set) var failures = 0

    static let shortest = Duration.milliseconds(500)
    static let longest = Duration.seconds(60)

    /// The delay behind another failure. `jitter` is from 0 to 1, at random: it makes the delay up to a quarter shorter.
    mutating func delay(jitter: Double) -> Duration {
        var delay = Self.shortest
        for _ in 0..<failures where delay < Self.longest { delay *= 2 }
        failures += 1
        return min(delay, Self.longest) * (1 - min(max(jitter, 0), 1) / 4)
    }

    /// There is reason to believe that the next try succeeds.
    mutating func reset() {
        failures = 0
    }
}
