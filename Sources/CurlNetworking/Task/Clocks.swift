import CurlTransport
import Foundation

/// Whose time the clocks measure. Loop only.
protocol ClocksOwner: AnyObject {
    /// The event loop that the task is on.
    var loop: EventLoop { get }
    /// When the transfer under way will have been silent for too long; nil while the idle clock stands still.
    var idleEnd: MonotonicTime? { get }
    /// Whether the resource clock is to run; nil before the task was first resumed.
    var runsResourceClock: Bool? { get }
}

/// The two clocks of a task behind one deadline: the idle clock, which runs while a transfer runs and isn't paused, and the resource clock,
/// which runs from the first resuming on and stands still while the task is suspended. Loop only.
struct Clocks {
    enum Expiry {
        case none
        /// Nothing has been sent or received for too long.
        case idle
        /// The task has taken too long in all.
        case resource
    }

    private var deadline: Deadline?
    /// nil before the first resuming.
    private var resource: ResourceClock?

    /// Whether `start` was called.
    var haveStarted: Bool { resource != nil }

    /// Starts the clocks, which stand still; `expired` is called when one of them may have run out.
    mutating func start(_ limit: Duration, from beginning: MonotonicTime, expired: @escaping () -> Void) {
        deadline = Deadline(action: expired)
        resource = ResourceClock(limit, from: beginning)
    }

    /// Has the resource clock run, or stand still.
    mutating func setRunning(_ isRunning: Bool, _ owner: any ClocksOwner) {
        if resource?.setRunning(isRunning, at: owner.loop.now) ?? false { arm(owner) }
    }

    /// Sets the deadline to the earlier of both ends.
    func arm(_ owner: any ClocksOwner) {
        guard let deadline else { return }
        let (idleEnd, resourceEnd) = (owner.idleEnd, resource?.end)
        let earlier = if let idleEnd, let resourceEnd { min(idleEnd, resourceEnd) } else { idleEnd ?? resourceEnd }
        if let end = earlier {
            owner.loop.schedule(deadline, at: end)
        } else {
            owner.loop.cancel(deadline)
        }
    }

    /// The deadline has come. Where no time is up, it is set anew.
    mutating func check(_ owner: any ClocksOwner) -> Expiry {
        let now = owner.loop.now
        // A suspension that the loop hasn't seen yet counts.
        if let runs = owner.runsResourceClock { setRunning(runs, owner) }
        if let end = resource?.end, end <= now { return .resource }
        if let end = owner.idleEnd, end <= now { return .idle }
        arm(owner)
        return .none
    }

    /// The task leaves the loop; armed anew, the clocks go on another.
    func disarm(on loop: EventLoop) {
        if let deadline { loop.cancel(deadline) }
    }

    /// The task is over.
    mutating func stop(on loop: EventLoop) {
        disarm(on: loop)
        deadline = nil
    }
}

extension URLError {
    static func idleTimeOut(_ url: URL?) -> URLError {
        URLError(.timedOut, url, "Nothing was sent or received for as long as the request's time-out allows.")
    }

    /// - Parameter cause: What the task waited to be over; nil for nothing.
    static func resourceTimeOut(_ url: URL?, _ cause: (any Error)?) -> URLError {
        let description = "The task took longer than its configuration's timeoutIntervalForResource."
        return URLError(.timedOut, url, description, nil, cause.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }
}
