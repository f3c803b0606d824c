import CCurlNetworkingLinux
import Glibc

/// The loop's one timer, a timerfd. Loop only.
///
/// It is rearmed only for an earlier deadline; for a later or cancelled one it fires once for nothing, which costs less than a system call
/// per request.
struct TimerDescriptor: ~Copyable {
    let descriptor: Int32
    private var armedFor: MonotonicTime?

    /// The errno if the system was out of descriptors; then the timer never fires.
    let failure: SystemError?

    init() {
        // MonotonicTime's clock.
        descriptor = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_NONBLOCK | TFD_CLOEXEC))
        failure = descriptor < 0 ? SystemError.current : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes sure that the timer fires at `time` or earlier.
    mutating func arm(for time: MonotonicTime?) {
        guard let time, armedFor.map({ time < $0 }) ?? true else { return }
        armedFor = time
        // 0 would disarm it.
        let nanoseconds = max(time.nanoseconds, 1)
        var setting = itimerspec()
        setting.it_value.tv_sec = time_t(min(nanoseconds / 1_000_000_000, Int64(Int32.max)))
        setting.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
        _ = timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }

    /// Called when the timer has fired.
    mutating func acknowledge() {
        var expirations: UInt64 = 0
        _ = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        armedFor = nil
    }
}
