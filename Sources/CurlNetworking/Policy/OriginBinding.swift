import Locks

/// Which of a session's event loops each of its origins is bound to. Any thread.
///
/// A new origin goes to the loop that has the fewest, the first of those: so while nothing is forgotten, origins take the loops in turn. It
/// stays there until that loop forgets it. So an origin has all of its connections on one loop, where they are counted and shared.
final class OriginBinding: Sendable {
    private let state: Mutex<State>

    private struct State {
        var loops: [Origin: Int] = [:]
        /// How many origins each loop has.
        var counts: [Int]
    }

    /// `count` is at least 1.
    init(loops count: Int) {
        state = Mutex(State(counts: Array(repeating: 0, count: count)))
    }

    /// The loop of `origin`, from 0; one that has none is bound now.
    func loop(for origin: Origin) -> Int {
        state.withLock { state in
            if let loop = state.loops[origin] { return loop }
            let loop = state.counts.indices.min { state.counts[$0] < state.counts[$1] } ?? 0
            state.loops[origin] = loop
            state.counts[loop] += 1
            return loop
        }
    }

    /// `loop` has nothing to do any more with its origins but for these.
    func release(from loop: Int, allBut remembered: Set<Origin>) {
        state.withLock { state in
            state.loops = state.loops.filter { $0.value != loop || remembered.contains($0.key) }
            state.counts[loop] = state.loops.values.count { $0 == loop }
        }
    }
}
