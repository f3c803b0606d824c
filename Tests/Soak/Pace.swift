import Foundation
import Synchronization

/// How fast a consumer takes its bytes, and what its process needed meanwhile. Any thread.
final class Pace: Sendable {
    private struct State {
        var taken = 0
        /// Resident memory once the first bytes had gone through, in bytes.
        var baseline: Int?
        var peak = 0
        var nextLook = ContinuousClock.now
    }

    private let bytesPerSecond: Int
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    var taken: Int { state.withLock { $0.taken } }

    /// By how many bytes memory has grown at most after the first 16 MB.
    var growth: Int { state.withLock { $0.peak - ($0.baseline ?? 0) } }

    /// How long to wait after so many bytes more. Zero when behind.
    func delay(afterTaking count: Int) -> Duration {
        state.withLock { state in
            state.taken += count
            let now = ContinuousClock.now
            if now >= state.nextLook {
                state.nextLook = now + .seconds(1)
                let resident = Self.resident
                if state.taken >= 16_000_000 {
                    state.baseline = state.baseline ?? resident
                    state.peak = max(state.peak, resident)
                }
            }
            return max(.zero, start + .seconds(Double(state.taken) / Double(bytesPerSecond)) - now)
        }
    }

    /// As Linux tells it, in bytes.
    private static var resident: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return (fields.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
