import CurlTransport

/// The time that a task may take in total (`timeoutIntervalForResource`). The clock is stopped before the task's begin date and while the
/// task is suspended.
struct ResourceClock: Equatable, Sendable {
    private enum State: Equatable, Sendable {
        case running(end: MonotonicTime)
        case stopped(rest: Duration)
    }

    private var state: State

    /// A stopped clock.
    init(_ limit: Duration) {
        state = .stopped(rest: limit)
    }

    /// When the time will be up; nil while the clock is stopped.
    var end: MonotonicTime? {
        switch state {
        case .running(let end): end
        case .stopped: nil
        }
    }

    /// Starts or stops the clock. Returns false if it was already running or stopped.
    mutating func setRunning(_ isRunning: Bool, at now: MonotonicTime) -> Bool {
        switch (state, isRunning) {
        case (.stopped(let rest), true):
            state = .running(end: now + rest)
        case (.running(let end), false):
            state = .stopped(rest: max(.zero, end - now))
        case (.running, true), (.stopped, false):
            return false
        }
        return true
    }
}
