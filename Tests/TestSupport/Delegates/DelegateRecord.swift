import CurlNetworking
import Foundation

/// What a delegate was told, in order, and what came with it.
package struct DelegateRecord: Sendable {
    package struct Entry: Sendable, Equatable {
        /// nil for what concerns the session.
        package let task: Int?
        package let event: DelegateEvent
        /// Whether it came on another queue than the session's delegate queue, if the delegate checks that.
        package let isOffQueue: Bool

        package var name: String { isOffQueue ? event.name + " on another queue" : event.name }
    }

    package var entries: [Entry] = []
    package var bodies: [Int: Data] = [:]
    package var completions: [Int: [URLError?]] = [:]
    package var downloads: [Int: URLSessionDownloadTask] = [:]
    package var metrics: [URLSessionTaskMetrics] = []
    package var informational: [HTTPURLResponse] = []

    /// The error that the only task has ended with.
    package var error: URLError? { completions.values.first?.first ?? nil }
}

/// A delegate that records what it is told. Tests read the record, and wait for any of it.
///
/// There are several because a session's behaviour depends on which methods its delegate has. Tasks are told apart by
/// `taskIdentifier`, so one delegate serves one session.
package protocol DelegateRecorder: AnyObject {
    var record: Watched<DelegateRecord> { get }
}

extension DelegateRecorder {
    /// - Parameters:
    ///   - session: The session on whose delegate queue it should come; nil to skip that check.
    ///   - change: Records anything else about it.
    func note(
        _ event: DelegateEvent,
        of task: URLSessionTask?,
        in session: URLSession? = nil,
        _ change: (inout DelegateRecord) -> Void = { _ in }
    ) {
        let isOffQueue = session.map { OperationQueue.current !== $0.delegateQueue } ?? false
        record.update { record in
            record.entries.append(.init(task: task?.taskIdentifier, event: event, isOffQueue: isOffQueue))
            change(&record)
        }
    }

    func noteCompletion(of task: URLSessionTask, _ error: (any Error)?, in session: URLSession? = nil) -> DelegateEvent
    {
        let error = error.map { $0 as? URLError ?? URLError(.unknown) }
        let event = DelegateEvent.completed(error?.code)
        note(event, of: task, in: session) { $0.completions[task.taskIdentifier, default: []].append(error) }
        return event
    }

    // MARK: - Reading

    /// Everything, in order.
    package var entries: [DelegateRecord.Entry] { record.value.entries }

    /// What the delegate was told about one task, in order.
    package func events(of task: URLSessionTask) -> [DelegateEvent] {
        let identifier = task.taskIdentifier
        return entries.filter { $0.task == identifier }.map(\.event)
    }

    /// The names of all events, each run of equal ones as one.
    package var story: [String] { Self.story(entries) }

    /// The names of a task's events, each run of equal ones as one.
    package func story(of task: URLSessionTask) -> [String] {
        let identifier = task.taskIdentifier
        return Self.story(entries.filter { $0.task == identifier })
    }

    private static func story(_ entries: [DelegateRecord.Entry]) -> [String] {
        entries.map(\.name).reduce(into: []) { story, name in
            if story.last != name { story.append(name) }
        }
    }

    /// The body as the delegate got it, piece by piece or as a file.
    package func body(of task: URLSessionTask) -> Data? {
        record.value.bodies[task.taskIdentifier]
    }

    /// The body of the only task that the delegate was told about.
    package var onlyBody: Data? {
        let bodies = record.value.bodies
        return bodies.count == 1 ? bodies.first?.value : nil
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

    /// Returns when an event of this name has come, for any task.
    package func wait(for name: String) async throws {
        try await record.wait { $0.entries.contains { $0.name == name } }
    }

    /// Returns when this many body bytes of the task have arrived.
    package func wait(for task: URLSessionTask, bytes count: Int) async throws {
        let identifier = task.taskIdentifier
        try await record.wait { $0.bodies[identifier]?.count ?? 0 >= count }
    }

    /// Returns when this many body bytes of some task have arrived.
    package func wait(forOnlyBodyOf count: Int) async throws {
        try await record.wait { $0.bodies.values.first?.count ?? 0 >= count }
    }

    /// Returns when the session has become invalid.
    package func invalidation() async throws {
        try await record.wait { $0.entries.contains { $0.event == .becameInvalid } }
    }

    /// The whole story of a task that completes with a message to its delegate.
    package func completeStory() async throws -> [String] {
        try await wait(for: "completed")
        return story
    }

    /// The metrics of a task that is over.
    package func metrics() async throws -> URLSessionTaskMetrics {
        try await record.wait { !$0.metrics.isEmpty }
        return record.value.metrics[0]
    }
}
