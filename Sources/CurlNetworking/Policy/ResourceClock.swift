import Curl

/// The time that a task may take in all (`timeoutIntervalForResource`): it runs from the task's beginning on, and stands still while
/// the task is suspended.
struct ResourceClock: Equatable, Sendable {
    private enum State: Equatable, Sendable {
        case running(end: MonotonicTime)
        case stopped(rest: Duration)
    }

    /// Before that, as before a begin date, nothing is used up.
    private let beginning: MonotonicTime
    private var state: State

    /// Stands still.
    init(_ limit: Duration, from beginning: MonotonicTime) {
        self.beginning = beginning
        state = .stopped(rest: limit)
    }

    /// When the time will be up; nil while the clock stands still.
    var end: MonotonicTime? {
        switch state {
        case .running(let end): end
        case .stopped: nil
        }
    }

    /// Lets the clock run, or stops it; false where it does so already.
    mutating func setRunning(_ isRunning: Bool, at now: MonotonicTime) -> Bool {
        switch (state, isRunning) {
        case (.stopped(let rest), true):
            state = .running(end: max(now, beginning) + rest)
        case (.running(let end), false):
            state = .stopped(rest: max(.zero, end - max(now, beginning)))
        case (.running, true), (.stopped, false):
            return false
        }
        return true
    }
}
