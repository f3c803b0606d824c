import CurlTransport

/// When a stream task's current read and write will have taken too long. A value: the caller supplies the time.
struct StreamTimeouts {
    var read: MonotonicTime?
    var write: MonotonicTime?
    /// Since when they stand still.
    private var pause: MonotonicTime?

    var isPaused: Bool { pause != nil }

    /// The earlier of the two; nil for neither.
    var next: MonotonicTime? { [read, write].compactMap { $0 }.min() }

    /// What is left of the time is left afterwards.
    mutating func setPaused(_ isPaused: Bool, at now: MonotonicTime) {
        if isPaused {
            pause = pause ?? now
        } else if let pause = pause.take() {
            let gap = now - pause
            read = read.map { $0 + gap }
            write = write.map { $0 + gap }
        }
    }

    /// Nothing is read or written any more.
    mutating func clear() {
        (read, write) = (nil, nil)
    }
}
