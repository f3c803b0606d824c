/// How long a client waits before it connects again.
struct BackOff: Sendable {
    var first = Duration.milliseconds(500)
    var longest = Duration.seconds(60)
    private var failures = 0

    init() {}

    /// Twice as long each time, and anything from half of that on: clients that the same server has lost don't come back together.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let ceiling = min(longest, first * (1 << min(failures, 20)))
        failures += 1
        return ceiling * Double.random(in: 0.5...1, using: &generator)
    }

    /// A connection has brought something.
    mutating func succeeded() {
        failures = 0
    }
}
