import CurlTransport
import Foundation

/// The task whose time the clocks measure. Loop only.
///
/// Always a `Loader`; with the protocol, its clocks depend on nothing else of it.
protocol ClocksOwner: AnyObject {
    var loop: EventLoop { get }
    /// The time at which the current transfer will have been idle too long, if the delegate last decided at `lastAnswer`; nil while the
    /// idle clock is stopped.
    func idleEnd(after lastAnswer: MonotonicTime?) -> MonotonicTime?
    /// Restarts the idle clock, if a transfer is running.
    func restartIdleClock()
    /// Whether the resource clock should run: not before a begin date, nor once the whole response has arrived. nil before the task was
    /// first resumed.
    var runsResourceClock: Bool? { get }
}

/// The two clocks of a task, which share one deadline: the idle clock, which runs while a transfer runs and isn't paused, and the resource
/// clock, which runs from the first `resume()` until the whole response has arrived, except while the task is suspended. Loop only.
struct Clocks {
    enum Expiry {
        case none
        /// Nothing has been sent or received for too long.
        case idle
        /// The task has taken too long overall.
        case resource
    }

    private var deadline: Deadline?
    /// nil before the first `resume()`.
    private var resource: ResourceClock?

    /// The time the delegate last decided about a response or a part, as of the idle clock's last check.
    var lastAnswer: MonotonicTime?

    var haveStarted: Bool { resource != nil }

    /// Creates the clocks, stopped; `expired` is called when one of them may have run out.
    mutating func start(_ limit: Duration, expired: @escaping () -> Void) {
        deadline = Deadline(action: expired)
        resource = ResourceClock(limit)
    }

    mutating func setRunning(_ isRunning: Bool, _ owner: any ClocksOwner) {
        guard resource?.setRunning(isRunning, at: owner.loop.now) ?? false else { return }
        // A resumed task has its full idle time again, even if libcurl couldn't pause its transfer.
        if isRunning { owner.restartIdleClock() }
        arm(owner)
    }

    /// Sets the deadline to the earlier of the two clocks' ends.
    func arm(_ owner: any ClocksOwner) {
        guard let deadline else { return }
        let (idleEnd, resourceEnd) = (owner.idleEnd(after: lastAnswer), resource?.end)
        let earlier = if let idleEnd, let resourceEnd { min(idleEnd, resourceEnd) } else { idleEnd ?? resourceEnd }
        if let end = earlier {
            owner.loop.schedule(deadline, at: end)
        } else {
            owner.loop.cancel(deadline)
        }
    }

    /// Called at the deadline, which is set again if neither clock has run out.
    mutating func check(_ owner: any ClocksOwner) -> Expiry {
        let now = owner.loop.now
        // Accounts for a suspension that the loop hasn't seen yet, and for the end of the response, which isn't reported to the clock.
        if let runs = owner.runsResourceClock { setRunning(runs, owner) }
        if let end = resource?.end, end <= now { return .resource }
        if let end = owner.idleEnd(after: lastAnswer), end <= now { return .idle }
        arm(owner)
        return .none
    }

    /// Called when the task leaves the loop. The clocks continue on another loop once they are armed there.
    func disarm(on loop: EventLoop) {
        if let deadline { loop.cancel(deadline) }
    }

    /// Called when the task is over.
    mutating func stop(on loop: EventLoop) {
        disarm(on: loop)
        deadline = nil
    }
}

extension URLError {
    static func idleTimeOut(_ url: URL?) -> URLError {
        URLError(.timedOut, url: url, "Nothing was sent or received for as long as the request's time-out allows.")
    }

    /// - Parameter cause: The reason the task had no connection; nil if it had one, or had never failed to make one.
    static func resourceTimeOut(_ url: URL?, _ cause: (any Error)?) -> URLError {
        let description = "The task took longer than its configuration's timeoutIntervalForResource."
        return URLError(.timedOut, url: url, description, details: cause.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }
}
