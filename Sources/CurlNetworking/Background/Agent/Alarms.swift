import Dispatch

extension DispatchTime {
    /// The time after `delay`, or after ten years if that is sooner: "never".
    static func after(_ delay: Duration) -> DispatchTime {
        .now() + min(delay / .seconds(1), 10 * 365 * 24 * 60 * 60)
    }
}

/// Calls back for many keys, each at its own time. One timer waits for the earliest. Used only on its queue.
///
/// `@unchecked Sendable`: see above.
final class Alarms<Key: Hashable & Sendable>: @unchecked Sendable {
    private let rung: (Key) -> Void
    private var times: [Key: DispatchTime] = [:]
    /// Ends with this object. A block that waits in a queue would take memory until its time has come, which may be in days.
    private let timer: any DispatchSourceTimer
    /// When the timer fires; nil if there is nothing to wait for.
    private var next: DispatchTime?

    /// In nanoseconds: times are rounded up to a multiple of this, so that nearby ones share one pass over all of them.
    private static var grain: UInt64 { 50_000_000 }

    /// - Parameter rung: Called with a key when its time has come; its alarm is already removed.
    init(on queue: DispatchQueue, rung: @escaping (Key) -> Void) {
        self.rung = rung
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.ring() }
        timer.schedule(deadline: .distantFuture)
        timer.activate()
    }

    deinit {
        timer.cancel()
    }

    /// Replaces an earlier alarm for `key`.
    func set(_ key: Key, after delay: Duration) {
        let exact = DispatchTime.after(delay).uptimeNanoseconds
        let time = DispatchTime(uptimeNanoseconds: (exact / Self.grain + 1) * Self.grain)
        times[key] = time
        wait(for: time)
    }

    func cancel(_ key: Key) {
        times[key] = nil
    }

    private func wait(for time: DispatchTime) {
        if let next, next <= time { return }
        next = time
        timer.schedule(deadline: time)
    }

    private func ring() {
        next = nil
        let now = DispatchTime.now()
        let due = times.filter { $0.value <= now }.keys
        for key in due { times[key] = nil }
        if let earliest = times.values.min() { wait(for: earliest) }
        for key in due { rung(key) }
    }
}
