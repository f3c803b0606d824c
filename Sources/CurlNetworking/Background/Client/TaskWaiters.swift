import Foundation

/// Calls that each wait for some tasks: until the agent has recorded them, or until the delegate has been told of their ends. A value.
struct TaskWaiters {
    private var waiting: [(keys: Set<UUID>, body: @Sendable () -> Void)] = []

    mutating func add(_ body: @escaping @Sendable () -> Void, until keys: Set<UUID>) {
        waiting.append((keys, body))
    }

    /// Nothing has to wait for the task any more. Removes and returns the calls that wait for no other.
    mutating func takeReady(after key: UUID) -> [@Sendable () -> Void] {
        guard !waiting.isEmpty else { return [] }
        for index in waiting.indices { waiting[index].keys.remove(key) }
        let ready = waiting.filter(\.keys.isEmpty)
        waiting.removeAll(where: \.keys.isEmpty)
        return ready.map(\.body)
    }
}
