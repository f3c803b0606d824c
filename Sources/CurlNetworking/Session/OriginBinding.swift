import CurlNetworkingLocks

/// Binds each of a session's origins to one of its event loops. Any thread.
///
/// A new origin is bound to the loop with the fewest origins (the first of several) until that loop forgets it. So all of an origin's
/// connections are on one loop, where they are counted and shared.
final class OriginBinding: Sendable {
    private let state: Mutex<State>

    private struct State {
        var loops: [Origin: Int] = [:]
        /// The number of origins on each loop.
        var counts: [Int]
    }

    /// `count` is at least 1.
    init(loops count: Int) {
        state = Mutex(State(counts: Array(repeating: 0, count: count)))
    }

    /// The loop of `origin`, from 0. Binds a new origin.
    func loop(for origin: Origin) -> Int {
        state.withLock { state in
            if let loop = state.loops[origin] { return loop }
            let loop = state.counts.indices.min { state.counts[$0] < state.counts[$1] } ?? 0
            state.loops[origin] = loop
            state.counts[loop] += 1
            return loop
        }
    }

    /// Unbinds all origins of `loop` except `remembered`.
    func release(from loop: Int, allBut remembered: Set<Origin>) {
        state.withLock { state in
            state.loops = state.loops.filter { $0.value != loop || remembered.contains($0.key) }
            state.counts[loop] = state.loops.values.count { $0 == loop }
        }
    }
}
