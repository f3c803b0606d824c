import CurlTransport

/// Limits the time spent on something optional: to a tenth of all time, with a small credit.
///
/// Each access to the stock cache lists its whole directory, which takes some milliseconds. A program that loads thousands of different
/// responses would keep a core busy with that.
struct TimeBudget {
    private static let credit = Duration.milliseconds(500)
    private static let share = 10

    private var balance = Self.credit
    private var lastUpdate: MonotonicTime?

    mutating func allows(at now: MonotonicTime) -> Bool {
        if let lastUpdate, now > lastUpdate { balance = min(Self.credit, balance + (now - lastUpdate) / Self.share) }
        lastUpdate = now
        return balance > .zero
    }

    mutating func spend(_ time: Duration) {
        balance -= time
    }
}
