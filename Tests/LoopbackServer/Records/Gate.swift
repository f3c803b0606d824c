/// An event that happens once: closed until someone opens it, then open for good.
///
/// A test holds back a server with it (`Step.waitFor`), or learns how far the server has got (`Step.open`). May be used
/// from any thread.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var nextNumber = 0
        var actions: [@Sendable () -> Void] = []
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Locked(State())

    package init() {}

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Lets everyone through. Does nothing if it's already open.
    package func open() {
        let (actions, waiters) = state.withLock { state in
            defer {
                state.actions = []
                state.waiters = [:]
            }
            state.isOpen = true
            return (state.actions, state.waiters)
        }
        for action in actions { action() }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Returns when the gate is open; throws `CancellationError` if the task is cancelled first.
    package func wait() async throws {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.isOpen { return .success(()) }
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    state.waiters[number] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: number)
                if waiter == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Calls `action` once, when the gate opens, on the opener's thread; at once, on the caller's, if it's already open.
    package func whenOpen(_ action: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.actions.append(action) }
            return state.isOpen
        }
        if isOpen { action() }
    }
}
