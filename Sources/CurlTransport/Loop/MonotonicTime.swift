import Glibc

/// A moment on the clock that also runs while the machine sleeps, which is the one behind `ContinuousClock`.
///
/// A plain number, where that clock's own type hides its layout: every copy and comparison of one is a call, and an event loop
/// makes dozens of them with each request. Public for the reason that `Mutex` is.
public struct MonotonicTime: Comparable, Sendable {
    /// Since the machine was started.
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

    /// What lies centuries ahead is all the same moment, and so is what was before the machine was started.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let sum = Int128(time.nanoseconds) + duration.attoseconds / 1_000_000_000
        return MonotonicTime(nanoseconds: max(0, Int64(clamping: sum)))
    }

    package static func - (end: MonotonicTime, start: MonotonicTime) -> Duration {
        .nanoseconds(end.nanoseconds - start.nanoseconds)
    }
}
