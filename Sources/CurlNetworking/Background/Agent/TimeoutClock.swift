import Dispatch
import Foundation

/// How long agents have worked on a task, which is limited by `timeoutIntervalForResource`. Counts the time that passes while the machine
/// is awake: setting the system's clock changes nothing.
struct TimeoutClock {
    /// In seconds.
    private let earlier: TimeInterval
    private var counted: TimeInterval = 0
    /// Since when it runs; nil while it is stopped.
    private(set) var started: DispatchTime?

    /// - Parameter earlier: The time that earlier agents have counted, in seconds.
    init(earlier: TimeInterval) {
        self.earlier = earlier
    }

    /// False if it was running already.
    mutating func start(at now: DispatchTime = .now()) -> Bool {
        guard started == nil else { return false }
        started = now
        return true
    }

    mutating func stop(at now: DispatchTime = .now()) {
        counted += running(at: now)
        started = nil
    }

    /// In seconds.
    func elapsed(at now: DispatchTime = .now()) -> TimeInterval {
        earlier + counted + running(at: now)
    }

    /// The rest of `timeout` seconds.
    func remaining(of timeout: TimeInterval, at now: DispatchTime = .now()) -> Duration {
        let left = Duration(timeInterval: timeout) / .seconds(1) - elapsed(at: now)
        return left > 0 ? Duration(timeInterval: left) : .zero
    }

    private func running(at now: DispatchTime) -> TimeInterval {
        guard let started, now > started else { return 0 }
        return Double(now.uptimeNanoseconds - started.uptimeNanoseconds) / 1e9
    }
}
