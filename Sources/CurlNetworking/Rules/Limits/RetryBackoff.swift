/// How long to wait before the next attempt: longer each time up to a limit, with jitter.
struct RetryBackoff: Sendable {
    private(set) var failures = 0
    /// The position of the last progress that counted.
    private var furthest: Int64 = 0

    static let shortest = Duration.milliseconds(500)
    static let longest = Duration.seconds(60)
    /// How much further an attempt has to get for the next one to be made soon: one byte each would mean endless attempts.
    static let minimumProgress: Int64 = 64 * 1024

    /// The delay after another failure. `jitter` is a random number from 0 to 1 that makes the delay up to a quarter shorter.
    mutating func delay(jitter: Double) -> Duration {
        var delay = Self.shortest
        for _ in 0..<failures where delay < Self.longest { delay *= 2 }
        failures += 1
        return min(delay, Self.longest) * (1 - min(max(jitter, 0), 1) / 4)
    }

    /// The next attempt is likely to succeed.
    mutating func reset() {
        failures = 0
    }

    /// The work has got as far as `position`, in bytes: if that is well beyond earlier positions, delays are short again. An attempt that
    /// starts over and ends where others did changes nothing.
    mutating func noteProgress(to position: Int64) {
        guard position > furthest, position - furthest >= Self.minimumProgress else { return }
        furthest = position
        reset()
    }
}
