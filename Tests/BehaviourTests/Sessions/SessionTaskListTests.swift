import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session's list of tasks", .timeLimit(.minutes(1)))
struct SessionTaskListTests {
    @Test("The list has the tasks that are not completed, by kind, whichever way it's asked for")
    func kinds() async throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let url = rig.url("/")
        let data = rig.session.dataTask(with: url)
        let upload = rig.session.uploadTask(with: URLRequest(url, method: "PUT"), from: Data("x".utf8))
        let download = rig.session.downloadTask(with: url)
        for task in [data, upload, download] { task.resume() }

        let all = await rig.session.allTasks
        #expect(Set(all) == [data, upload, download])
        let kinds = await rig.session.tasks
        #expect(kinds.0 == [data] && kinds.1 == [upload] && kinds.2 == [download])

        let byHandler = await withCheckedContinuation { continuation in
            rig.session.getAllTasks { continuation.resume(returning: $0) }
        }
        #expect(Set(byHandler) == [data, upload, download])
        let first = await withCheckedContinuation { continuation in
            rig.session.getTasksWithCompletionHandler({ continuation.resume(returning: ($0, $1, $2)) })
        }
        #expect(first.0 == [data] && first.1 == [upload] && first.2 == [download])
        let second = await withCheckedContinuation { continuation in
            rig.session.getTasksWithCompletionHandler(completionHandler: {
                continuation.resume(returning: ($0, $1, $2))
            })
        }
        #expect(second.0 == [data] && second.1 == [upload] && second.2 == [download])
    }

    @Test("The handlers are called on the delegate queue")
    func queue() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let queue = session.delegateQueue
        let isOnQueue = await withCheckedContinuation { continuation in
            session.getAllTasks { _ in continuation.resume(returning: OperationQueue.current === queue) }
        }
        #expect(isOnQueue)
    }

    @Test("A task is on the list from its creation to its completion, and not after")
    func lifetime() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        #expect(await session.allTasks.isEmpty)
        let task = session.dataTask(with: server.url("/"))
        #expect(await session.allTasks == [task])
        task.resume()
        _ = try await delegate.completion(of: task)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(await session.allTasks.isEmpty)
    }

    /// Notes the task's state in each message of the end, and the length of a list that is asked for there.
    private final class EndDelegate: NSObject, URLSessionDownloadDelegate {
        let events = Watched<[String]>([])

        private func note(_ name: String, _ task: URLSessionTask, _ session: URLSession) {
            events.update { $0.append(task.state == .completed ? name : "\(name) too early") }
            session.getAllTasks { [events] tasks in events.update { $0.append("listed \(tasks.count)") } }
        }

        func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo: URL) {
            note("downloaded", downloadTask, session)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            note("metrics", task, session)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            note("completed", task, session)
        }
    }

    @Test("From the first message of its end on, a task is completed and not on the list")
    func end() async throws {
        let delegate = EndDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        rig.session.downloadTask(with: rig.url("/")).resume()
        try await delegate.events.wait { $0.count == 6 }
        let expected = ["downloaded", "metrics", "completed"].flatMap { [$0, "listed 0"] }
        #expect(delegate.events.value == expected)
    }

    @Test("A cancelled task is not on the list, even if its completion has not been delivered")
    func cancelled() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .never }
        defer { rig.stop() }
        let running = rig.session.dataTask(with: rig.url("/"))
        let cancelled = rig.session.dataTask(with: rig.url("/"))
        let unused = rig.session.dataTask(with: rig.url("/"))
        running.resume()
        cancelled.resume()
        try await rig.server.waitForRequests(2)
        rig.session.delegateQueue.isSuspended = true
        cancelled.cancel()
        unused.cancel()
        #expect(await rig.session.allTasks == [running])
        #expect(await rig.session.tasks.0 == [running])
        rig.session.delegateQueue.isSuspended = false
        #expect(try await delegate.completion(of: cancelled)?.code == .cancelled)
        #expect(try await delegate.completion(of: unused)?.code == .cancelled)
        #expect(await rig.session.allTasks == [running])
    }

    @Test("The tasks of async calls are on the list as well")
    func asyncTasks() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let session = URLSession.forTest()
        let call = Task { try await session.data(from: server.url("/")) }
        try await server.waitForRequests(1)
        let tasks = await session.allTasks
        #expect(tasks.count == 1 && tasks.first is URLSessionDataTask)
        for task in tasks { task.cancel() }
        let error = await #expect(throws: URLError.self) { _ = try await call.value }
        #expect(error?.code == .cancelled)
    }
}
