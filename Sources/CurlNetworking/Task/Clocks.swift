import CurlTransport
import Foundation

/// The task whose time the clocks measure. Loop only.
protocol ClocksOwner: AnyObject {
    /// The event loop that the task is on.
    var loop: EventLoop { get }
    /// When the current transfer will have been silent for too long; nil while the idle clock is stopped.
    var idleEnd: MonotonicTime? { get }
    /// The idle clock begins anew, if a transfer is running.
    func restartIdleClock()
    /// Whether the resource clock should run, which it doesn't before a begin date, and needn't once the whole response has arrived; nil
    /// before the task was first resumed.
    var runsResourceClock: Bool? { get }
}

/// The two clocks of a task, sharing one deadline: the idle clock, which runs while a transfer runs and isn't paused, and the resource
/// clock, which runs from the first `resume()` on, stops while the task is suspended, and doesn't matter once the whole response has arrived.
/// Loop only.
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

    /// When the delegate last decided about a response or a part, as of the idle clock's last look.
    var lastAnswer: MonotonicTime?

    /// Whether `start` was called.
    var haveStarted: Bool { resource != nil }

    /// Creates the clocks, stopped; `expired` is called when one of them may have run out.
    mutating func start(_ limit: Duration, expired: @escaping () -> Void) {
        deadline = Deadline(action: expired)
        resource = ResourceClock(limit)
    }

    /// Starts or stops the resource clock.
    mutating func setRunning(_ isRunning: Bool, _ owner: any ClocksOwner) {
        guard resource?.setRunning(isRunning, at: owner.loop.now) ?? false else { return }
        // A resumed task has all of its idle time again, even if libcurl could not pause its transfer.
        if isRunning { owner.restartIdleClock() }
        arm(owner)
    }

    /// Sets the deadline to the earlier of the two ends.
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

    /// Called at the deadline. If no time is up, it is set again.
    mutating func check(_ owner: any ClocksOwner) -> Expiry {
        let now = owner.loop.now
        // Accounts for a suspension that the loop hasn't seen yet, and for the end of the response, which isn't reported to the clock.
        if let runs = owner.runsResourceClock { setRunning(runs, owner) }
        if let end = resource?.end, end <= now { return .resource }
        if let end = owner.idleEnd, end <= now { return .idle }
        arm(owner)
        return .none
    }

    /// The task leaves the loop. The clocks continue on another when they are armed there.
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

    /// - Parameter cause: Why the task was waiting; nil if it wasn't.
    static func resourceTimeOut(_ url: URL?, _ cause: (any Error)?) -> URLError {
        let description = "The task took longer than its configuration's timeoutIntervalForResource."
        return URLError(.timedOut, url, description, nil, cause.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }
}
