import Glibc

/// A moment on the clock of `ContinuousClock`, which also runs while the machine sleeps.
///
/// A plain number, because `ContinuousClock.Instant` hides its layout: every copy and comparison would be a call, and an event loop makes
/// dozens of them for each request. Public for the same reason as `Mutex`.
public struct MonotonicTime: Comparable, Sendable {
    /// Since boot.
    public let nanoseconds: Int64

    @inlinable
    init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Whether `a` comes first.
    @inlinable
    public static func < (a: MonotonicTime, b: MonotonicTime) -> Bool {
        a.nanoseconds < b.nanoseconds
    }

    /// Saturates: times centuries ahead are all the same moment, and so are those before boot.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let sum = Int128(time.nanoseconds) + duration.attoseconds / 1_000_000_000
        return MonotonicTime(nanoseconds: max(0, Int64(clamping: sum)))
    }

    package static func - (end: MonotonicTime, start: MonotonicTime) -> Duration {
        .nanoseconds(end.nanoseconds - start.nanoseconds)
    }
}
