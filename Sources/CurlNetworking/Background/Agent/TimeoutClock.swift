import Dispatch
import Foundation

/// How long agents have worked on a task, which is limited by `timeoutIntervalForResource`. Counts the time that passes while the machine
/// is awake: setting the system's clock changes nothing.
struct TimeoutClock {
    /// In seconds.
    private let earlier: TimeInterval
    private var counted: TimeInterval = 0
    /// When it was started, or will be; nil while it is stopped.
    private(set) var started: DispatchTime?

    /// - Parameter earlier: The time that earlier agents have counted, in seconds.
    init(earlier: TimeInterval) {
        self.earlier = earlier
    }

    /// `time` may lie ahead: then it counts from there. Changes nothing if it is running already.
    mutating func start(at time: DispatchTime = .now()) {
        if started == nil { started = time }
    }

    /// Whether it was started for a time that hasn't come yet.
    func isWaiting(at now: DispatchTime = .now()) -> Bool {
        waiting(at: now) > 0
    }

    mutating func stop(at now: DispatchTime = .now()) {
        counted += running(at: now)
        started = nil
    }

    /// In seconds.
    func elapsed(at now: DispatchTime = .now()) -> TimeInterval {
        earlier + counted + running(at: now)
    }

    /// When `timeout` seconds are over, from `now`.
    func remaining(of timeout: TimeInterval, at now: DispatchTime = .now()) -> Duration {
        let left = Duration(timeInterval: timeout) / .seconds(1) - elapsed(at: now) + waiting(at: now)
        return left > 0 ? Duration(timeInterval: left) : .zero
    }

    /// How often to write down what is elapsed of `timeout` seconds: an agent that is killed loses a tenth of them, or an hour.
    static func recordInterval(of timeout: TimeInterval) -> Duration {
        min(max(Duration(timeInterval: timeout) / 10, .seconds(1)), .seconds(3600))
    }

    private func running(at now: DispatchTime) -> TimeInterval {
        started.map { Self.seconds(from: $0, to: now) } ?? 0
    }

    private func waiting(at now: DispatchTime) -> TimeInterval {
        started.map { Self.seconds(from: now, to: $0) } ?? 0
    }

    private static func seconds(from start: DispatchTime, to end: DispatchTime) -> TimeInterval {
        end > start ? Double(end.uptimeNanoseconds - start.uptimeNanoseconds) / 1e9 : 0
    }
}
