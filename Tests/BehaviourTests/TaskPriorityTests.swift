import CurlNetworking
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite("The priority of waiting requests", .timeLimit(.minutes(1)))
struct TaskPriorityTests {
    @Test("Of those that wait for a connection, the highest priority goes first, and equals in order of resuming")
    func order() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            request.path == "/first" ? .text("hello").after([.waitFor(gate)]) : .text("hello")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.useOneConnection() }
        defer { session.invalidateAndCancel() }
        let first = session.dataTask(with: server.url("/first"))
        first.resume()
        try await server.waitForRequests(1)
        let waiting: [(String, Float)] = [
            ("/low", URLSessionTask.lowPriority), ("/default1", URLSessionTask.defaultPriority),
            ("/high", URLSessionTask.highPriority), ("/default2", URLSessionTask.defaultPriority), ("/highest", 1),
        ]
        let tasks = waiting.map { path, priority in
            let task = session.dataTask(with: server.url(path))
            task.priority = priority
            task.resume()
            return task
        }
        // The loop has seen them all when it has finished this.
        await session.flush()
        gate.open()
        for task in tasks { _ = try await delegate.completion(of: task) }
        #expect(server.requests.map(\.path) == ["/first", "/highest", "/high", "/default1", "/default2", "/low"])
    }
}
