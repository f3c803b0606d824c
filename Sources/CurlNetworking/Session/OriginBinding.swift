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
        /// How many origins there may be before the loops are asked which ones they need.
        var room: Int
    }

    private let minimumRoom: Int

    /// `count` is at least 1.
    init(loops count: Int) {
        minimumRoom = 2000 * count
        state = Mutex(State(counts: Array(repeating: 0, count: count), room: minimumRoom))
    }

    /// The number of origins on all loops.
    var count: Int { state.withLock { $0.loops.count } }

    /// The loop of `origin`, from 0. Binds a new origin.
    ///
    /// If that `isCrowding` the table, each loop should release what it doesn't need: a task without a connection, such as one that was
    /// cancelled or answered by the cache, binds its origin to a loop that never hears of it.
    func loop(for origin: Origin) -> (loop: Int, isCrowding: Bool) {
        state.withLock { state in
            if let loop = state.loops[origin] { return (loop, false) }
            let loop = state.counts.indices.min { state.counts[$0] < state.counts[$1] } ?? 0
            state.loops[origin] = loop
            state.counts[loop] += 1
            guard state.loops.count > state.room else { return (loop, false) }
            state.room *= 2
            return (loop, true)
        }
    }

    /// Unbinds all origins of `loop` except `remembered`.
    func release(from loop: Int, allBut remembered: Set<Origin>) {
        state.withLock { state in
            state.loops = state.loops.filter { $0.value != loop || remembered.contains($0.key) }
            state.counts[loop] = state.loops.values.count { $0 == loop }
            state.room = max(minimumRoom, 2 * state.loops.count)
        }
    }
}
