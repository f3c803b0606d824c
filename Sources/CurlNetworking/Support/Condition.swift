import Glibc

/// A lock, and a signal for which threads wait: `NSCondition`, but for the clock. That one's waits become longer when the system's clock is
/// set back, and trap when it shows a date after the year 2262.
///
/// `@unchecked Sendable`: it has no state but pthread's, which is for any thread.
final class Condition: @unchecked Sendable {
    // In memory of their own, as neither may move.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let signalled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        signalled.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        defer { pthread_condattr_destroy(&attributes) }
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(signalled, &attributes)
    }

    deinit {
        pthread_cond_destroy(signalled)
        pthread_mutex_destroy(mutex)
        signalled.deallocate()
        mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }

    func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    /// Wakes one of the waiting threads.
    func signal() { pthread_cond_signal(signalled) }

    /// When a wait that begins now and takes so many seconds is over.
    static func end(ofWaiting seconds: Int) -> timespec {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_sec += seconds
        return end
    }

    /// Called with the lock, which is released meanwhile. Returns false at `end`; true if there was a signal, or for no reason.
    func wait(until end: timespec) -> Bool {
        withUnsafePointer(to: end) { pthread_cond_timedwait(signalled, mutex, $0) } == 0
    }
}
