import Foundation

/// When a task with a begin date may begin: once the system's clock shows that date, even if the clock was set meanwhile.
enum BeginDatePolicy {
    /// How long to wait before looking at the clock again, which shows `now`; nil if there is nothing to wait for. Timers don't notice that
    /// the clock has been set, which would otherwise make the task late.
    static func wait(for date: Date?, at now: Date) -> Duration? {
        guard let remaining = date?.timeIntervalSince(now), remaining > 0 else { return nil }
        return .seconds(min(remaining, 60))
    }
}
