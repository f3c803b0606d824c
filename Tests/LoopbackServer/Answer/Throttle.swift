/// Holds a sender to a rate. Bytes are let through in pieces of a fiftieth of a second's worth.
struct Throttle {
    let bytesPerSecond: Int
    private let start: ContinuousClock.Instant
    private var sent = 0

    init(bytesPerSecond: Int, start: ContinuousClock.Instant) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        self.start = start
    }

    private var quantum: Int { max(1, bytesPerSecond / 50) }

    /// How much may be sent now; zero until a whole piece may.
    func allowance(at now: ContinuousClock.Instant) -> Int {
        let due = start.duration(to: now) / .seconds(1) * Double(bytesPerSecond) - Double(sent)
        return due < Double(quantum) ? 0 : Int(min(due, 1e9))
    }

    /// When the next piece may be sent.
    var next: ContinuousClock.Instant {
        start + .seconds(Double(sent + quantum) / Double(bytesPerSecond)) + .microseconds(1)
    }

    mutating func count(_ bytes: Int) {
        sent += bytes
    }
}
