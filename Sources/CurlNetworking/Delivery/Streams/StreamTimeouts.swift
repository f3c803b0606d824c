import CurlTransport

/// When a stream task's current read, write and transition time out. A value: the caller supplies the time.
struct StreamTimeouts {
    var read: MonotonicTime?
    var write: MonotonicTime?
    private(set) var transition: MonotonicTime?
    /// When the time-outs were paused; nil while they run.
    private var pause: MonotonicTime?

    var isPaused: Bool { pause != nil }

    /// The earliest time-out; nil for none.
    var next: MonotonicTime? { [read, write, transition].compactMap { $0 }.min() }

    /// A transition may begin in a pause, unlike a read or a write.
    mutating func limitTransition(to limit: Duration?, at now: MonotonicTime) {
        transition = limit.map { (pause ?? now) + $0 }
    }

    /// After a pause, each time-out has as much time left as before.
    mutating func setPaused(_ isPaused: Bool, at now: MonotonicTime) {
        if isPaused {
            pause = pause ?? now
        } else if let pause = pause.take() {
            let gap = now - pause
            read = read.map { $0 + gap }
            write = write.map { $0 + gap }
            transition = transition.map { $0 + gap }
        }
    }

    /// Nothing is read or written any more.
    mutating func clear() {
        (read, write, transition) = (nil, nil, nil)
    }
}
