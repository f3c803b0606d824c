/// What has happened at the server, for tests to read and to wait for. Written by the loop, read from any thread.
final class Recorder: Sendable {
    struct State: Sendable {
        /// Every request whose head has arrived, in order of arrival.
        var requests: [LoopbackServer.Request] = []
        /// Bytes sent in answer to each of `requests`.
        var sent: [Int64] = []
        var heads = 0
        var completed = 0
        var accepted = 0
        var open = 0
        var blocked = 0
        var bytesSent: Int64 = 0
        var bodyBytesReceived: Int64 = 0
        var rejections: [Int] = []
        var isStopped = false
    }

    private struct Books: Sendable {
        var state = State()
        var watchers: [Watcher] = []

        /// Removes the watchers that needn't wait any longer: their condition holds, or never will.
        mutating func takeFinished() -> [Watcher] {
            let state = state
            var finished: [Watcher] = []
            watchers.removeAll { watcher in
                let holds = watcher.condition(state)
                guard holds || state.isStopped else { return false }
                if holds { watcher.hasHeld.withLock { $0 = true } }
                finished.append(watcher)
                return true
            }
            return finished
        }
    }

    /// A waiting caller.
    private final class Watcher: Sendable {
        let condition: @Sendable (State) -> Bool
        let hasHeld = Locked(false)
        let gate = Gate()

        init(_ condition: @escaping @Sendable (State) -> Bool) {
            self.condition = condition
        }
    }

    private let books = Locked(Books())

    /// Reads several facts at the same moment.
    func read<Result>(_ body: (State) -> Result) -> Result {
        books.withLock { body($0.state) }
    }

    /// Records what happened, and wakes those waiting for it.
    @discardableResult
    func note<Result>(_ change: (inout State) -> Result) -> Result {
        let (result, finished) = books.withLock { books in
            let result = change(&books.state)
            return (result, books.watchers.isEmpty ? [] : books.takeFinished())
        }
        for watcher in finished { watcher.gate.open() }
        return result
    }

    /// Returns when `condition` has held; throws `CancellationError` if the task is cancelled, or the server stops, first.
    func wait(until condition: @escaping @Sendable (State) -> Bool) async throws {
        let watcher = Watcher(condition)
        books.withLock { $0.watchers.append(watcher) }
        note { _ in }  // it may hold already
        do {
            try await watcher.gate.wait()
        } catch {
            books.withLock { $0.watchers.removeAll { $0 === watcher } }
            throw error
        }
        guard watcher.hasHeld.withLock({ $0 }) else { throw CancellationError() }
    }
}
