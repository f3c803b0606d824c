import Dispatch

extension DispatchTime {
    /// The time after `delay`, or after ten years if that is sooner: "never".
    static func after(_ delay: Duration) -> DispatchTime {
        .now() + min(delay / .seconds(1), 10 * 365 * 24 * 60 * 60)
    }
}

/// Calls back for many keys, each at its own time. The queue waits only for the earliest. Used only on its queue.
///
/// `@unchecked Sendable`: see above.
final class Alarms<Key: Hashable & Sendable>: @unchecked Sendable {
    private let queue: DispatchQueue
    private let rung: (Key) -> Void
    private var times: [Key: DispatchTime] = [:]
    /// When the queue calls; nil if there is nothing to wait for.
    private var next: DispatchTime?

    /// In nanoseconds: times are rounded up to a multiple of this, so that nearby ones share one pass over all of them.
    private static var grain: UInt64 { 50_000_000 }

    /// - Parameter rung: Called with a key when its time has come; its alarm is already removed.
    init(on queue: DispatchQueue, rung: @escaping (Key) -> Void) {
        self.queue = queue
        self.rung = rung
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
        queue.asyncAfter(deadline: time) { [weak self] in self?.ring(time) }
    }

    private func ring(_ time: DispatchTime) {
        // An earlier alarm has been set since.
        guard next == time else { return }
        next = nil
        let now = DispatchTime.now()
        let due = times.filter { $0.value <= now }.keys
        for key in due { times[key] = nil }
        if let earliest = times.values.min() { wait(for: earliest) }
        for key in due { rung(key) }
    }
}
