import Foundation

/// Counts consecutive losses of an agent soon after it welcomed the program. An agent may be killed at any time, and then another is
/// started at once; but one that its tasks crash would be restarted for ever. A value.
struct AgentLosses {
    private var count = 0
    private var welcome = DispatchTime(uptimeNanoseconds: 0)

    /// In seconds. The loss of a connection that lasted this long counts as the first.
    static let shortTime = 10.0
    private static let maximumFailures = 6

    mutating func welcomed(at time: DispatchTime) {
        welcome = time
    }

    /// A task has ended: the agent works.
    mutating func forget() {
        count = 0
    }

    /// Returns the number of losses, including this one.
    mutating func lost(at time: DispatchTime) -> Int {
        if time >= welcome + Self.shortTime { count = 0 }
        count += 1
        return count
    }

    /// How long to wait before the next attempt to reach an agent; nil after too many.
    static func delay(afterFailure number: Int) -> Duration? {
        number <= maximumFailures ? .milliseconds(25 << number) : nil
    }
}
