import Dispatch
import Foundation

/// How long agents have worked on a task, which is limited by `timeoutIntervalForResource`. Counts only time while the machine is awake;
/// setting the system's clock has no effect.
struct TimeoutClock {
    /// In seconds.
    private let earlier: TimeInterval
    private var counted: TimeInterval = 0
    /// nil while it is stopped.
    private var started: DispatchTime?

    /// - Parameter earlier: The time that earlier agents have counted, in seconds.
    init(earlier: TimeInterval) {
        self.earlier = earlier
    }

    var isRunning: Bool { started != nil }

    /// Does nothing if it is already running.
    mutating func start(at now: DispatchTime = .now()) {
        if started == nil { started = now }
    }

    mutating func stop(at now: DispatchTime = .now()) {
        counted += running(at: now)
        started = nil
    }

    /// In seconds.
    func elapsed(at now: DispatchTime = .now()) -> TimeInterval {
        earlier + counted + running(at: now)
    }

    /// The time from `now` until `timeout` seconds have elapsed.
    func remaining(of timeout: TimeInterval, at now: DispatchTime = .now()) -> Duration {
        let left = Duration(timeInterval: timeout) / .seconds(1) - elapsed(at: now)
        return left > 0 ? Duration(timeInterval: left) : .zero
    }

    /// How often to record the elapsed part of `timeout` seconds: an agent that is killed loses a tenth of them, or an hour.
    static func recordInterval(of timeout: TimeInterval) -> Duration {
        min(max(Duration(timeInterval: timeout) / 10, .seconds(1)), .seconds(3600))
    }

    private func running(at now: DispatchTime) -> TimeInterval {
        guard let started, now > started else { return 0 }
        return Double(now.uptimeNanoseconds - started.uptimeNanoseconds) / 1e9
    }
}
