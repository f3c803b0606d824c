import CurlNetworkingLocks
import CurlNetworkingLoopbackServer

/// A value guarded by a lock, whose changes a test can wait for, without polling and for as long as the test may take.
package final class Watched<Value: Sendable>: Sendable {
    private struct State: Sendable {
        var value: Value
        var watchers: [Watcher] = []
    }

    private struct Watcher: Sendable {
        let condition: @Sendable (Value) -> Bool
        let gate: Gate
    }

    private let state: Mutex<State>

    package init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    package var value: Value { state.withLock { $0.value } }

    /// Changes the value, and wakes those whose condition holds now.
    @discardableResult
    package func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, gates) = state.withLock { state in
            let result = change(&state.value)
            var gates: [Gate] = []
            let value = state.value
            state.watchers.removeAll { watcher in
                guard watcher.condition(value) else { return false }
                gates.append(watcher.gate)
                return true
            }
            return (result, gates)
        }
        for gate in gates { gate.open() }
        return result
    }

    /// Returns when `condition` holds, or has held; throws `CancellationError` if the test runs out of time before.
    package func wait(until condition: @escaping @Sendable (Value) -> Bool) async throws {
        let gate = Gate()
        state.withLock { state in
            if condition(state.value) {
                gate.open()
            } else {
                state.watchers.append(Watcher(condition: condition, gate: gate))
            }
        }
        try await gate.wait()
    }
}

extension Watched where Value: Equatable {
    /// Returns when the value hasn't changed for a while: for what stops without an event that says so.
    package func standsStill() async throws {
        var (last, polls) = (value, 0)
        while polls < 20 {
            try await Task.sleep(for: .milliseconds(20))
            let next = value
            polls = next == last ? polls + 1 : 0
            last = next
        }
    }
}
