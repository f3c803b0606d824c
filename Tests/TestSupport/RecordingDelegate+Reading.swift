import CurlNetworking
import Foundation

// What the delegate has heard, and waiting for it.
extension RecordingDelegate {
    /// Everything, in order.
    package var entries: [Entry] { record.value.entries }

    /// What the delegate heard of one task, in order.
    package func events(of task: URLSessionTask) -> [DelegateEvent] {
        let identifier = task.taskIdentifier
        return entries.filter { $0.task == identifier }.map(\.event)
    }

    /// The names of a task's events, each run of equal ones as one.
    package func story(of task: URLSessionTask) -> [String] {
        events(of: task).map(\.name).reduce(into: []) { story, name in
            if story.last != name { story.append(name) }
        }
    }

    /// The body as the delegate got it, piece by piece or as a file.
    package func body(of task: URLSessionTask) -> Data? {
        record.value.bodies[task.taskIdentifier]
    }

    /// The body of the only task that the delegate has heard of.
    package var onlyBody: Data? {
        let bodies = record.value.bodies
        return bodies.count == 1 ? bodies.first?.value : nil
    }

    /// Returns when so many body bytes of some task have arrived.
    package func wait(forOnlyBodyOf count: Int) async throws {
        try await record.wait { $0.bodies.values.first?.count ?? 0 >= count }
    }

    /// What a data task has become.
    package func download(of task: URLSessionTask) -> URLSessionDownloadTask? {
        record.value.downloads[task.taskIdentifier]
    }

    /// How often the task has completed.
    package func completionCount(of task: URLSessionTask) -> Int {
        record.value.completions[task.taskIdentifier]?.count ?? 0
    }

    // MARK: - Waiting

    /// Returns when the task has completed, with its error.
    package func completion(of task: URLSessionTask) async throws -> URLError? {
        let identifier = task.taskIdentifier
        try await record.wait { $0.completions[identifier] != nil }
        return record.value.completions[identifier]?.first ?? nil
    }

    /// Returns when the task has completed without an error; throws the error if there is one.
    package func success(of task: URLSessionTask) async throws {
        if let error = try await completion(of: task) { throw error }
    }

    /// Returns when some event of the task satisfies `condition`.
    package func wait(
        for task: URLSessionTask,
        until condition: @escaping @Sendable (DelegateEvent) -> Bool
    ) async throws {
        let identifier = task.taskIdentifier
        try await record.wait { $0.entries.contains { $0.task == identifier && condition($0.event) } }
    }

    /// Returns when some event of this name has come, of whichever task.
    package func wait(forAny name: String) async throws {
        try await record.wait { $0.entries.contains { $0.event.name == name } }
    }

    /// Returns when so many body bytes of the task have arrived.
    package func wait(for task: URLSessionTask, bytes count: Int) async throws {
        let identifier = task.taskIdentifier
        try await record.wait { $0.bodies[identifier]?.count ?? 0 >= count }
    }

    /// Returns when the session has become invalid.
    package func invalidation() async throws {
        try await record.wait { $0.entries.contains { $0.event == .becameInvalid } }
    }
}
