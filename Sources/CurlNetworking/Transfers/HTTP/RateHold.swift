import CurlTransport

/// How long libcurl may wait, at most, to keep one direction of a transfer to its maximum rate. It moves bytes in bursts: up to a hundred
/// buffers arrive before it waits.
struct RateHold {
    private var count: Int64 = 0
    /// nil if it has no need to wait.
    private(set) var end: MonotonicTime?

    /// - Parameters:
    ///   - count: How much of the body has moved by `now`, in bytes.
    ///   - rate: In bytes per second; nil for no limit.
    mutating func note(_ count: Int64, at rate: Int?, now: MonotonicTime) {
        defer { self.count = count }
        guard let rate, count > self.count else { return }
        end = max(end ?? now, now) + .seconds(Double(count - self.count) / Double(rate))
    }
}
