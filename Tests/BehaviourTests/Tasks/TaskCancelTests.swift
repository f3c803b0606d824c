import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Cancelling a task", .timeLimit(.minutes(1)))
struct TaskCancelTests {
    /// Cancels and lets the session finish, so that nothing is left that could complete a second time.
    private func cancel(
        _ task: URLSessionTask,
        of session: URLSession,
        _ delegate: RecordingDelegate
    ) async throws -> URLError? {
        task.cancel()
        task.cancel()
        let error = try await delegate.completion(of: task)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(delegate.completionCount(of: task) == 1)
        #expect(delegate.events(of: task).last?.name == "completed")
        #expect(task.state == .completed)
        return error
    }

    @Test("A task that is cancelled before it is resumed completes once, and sends nothing")
    func beforeResume() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        let error = try await cancel(task, of: session, delegate)
        #expect(error?.code == .cancelled)
        #expect(error?.failingURL == server.url("/"))
        task.resume()
        #expect(server.connectionCount == 0)
    }

    @Test("A task that is cancelled right after it is resumed completes once")
    func afterResume() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        #expect(try await cancel(task, of: session, delegate)?.code == .cancelled)
        #expect(delegate.story(of: task) == ["created", "completed"])
    }

    @Test("A task that is cancelled while it waits for its turn completes once, and the others get theirs")
    func whileQueued() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.useOneConnection() }
        let tasks = (0..<3).map { session.dataTask(with: server.url("/\($0)")) }
        for task in tasks { task.resume() }
        try await server.waitForRequests(1)
        tasks[1].cancel()
        #expect(try await delegate.completion(of: tasks[1])?.code == .cancelled)
        gate.open()
        try await delegate.success(of: tasks[0])
        try await delegate.success(of: tasks[2])
        _ = try await cancel(tasks[1], of: session, delegate)
        #expect(server.requests.map(\.path) == ["/0", "/2"])
    }

    @Test("A task that is cancelled while it connects completes once")
    func whileConnecting() async throws {
        let server = try LoopbackServer.deaf()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let tasks = (0..<4).map { _ in session.dataTask(with: server.url("/")) }
        for task in tasks { task.resume() }
        await session.flush()
        for task in tasks { task.cancel() }
        for task in tasks { #expect(try await delegate.completion(of: task)?.code == .cancelled) }
        _ = try await cancel(tasks[0], of: session, delegate)
    }

    @Test("A task that is cancelled before the head completes once, and its connection is closed")
    func beforeHead() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        #expect(try await cancel(task, of: session, delegate)?.code == .cancelled)
        #expect(task.response == nil)
        try await server.waitUntilNoConnections()
    }

    @Test("A task that is cancelled within the head completes once")
    func insideHead() async throws {
        let server = try LoopbackServer { _ in .fault(.insideHead, then: .hang) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForBytesSent(1)
        await session.flush()
        #expect(try await cancel(task, of: session, delegate)?.code == .cancelled)
        try await server.waitUntilNoConnections()
    }

    @Test("A task that is cancelled within the body completes once with its response, and its connection is closed")
    func insideBody() async throws {
        let server = try LoopbackServer { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 1000)
        #expect(try await cancel(task, of: session, delegate)?.code == .cancelled)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        try await server.waitUntilNoConnections()
    }

    @Test("A task that is cancelled while it is suspended in mid-body completes once")
    func whileSuspended() async throws {
        let server = try LoopbackServer { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 1000)
        task.suspend()
        #expect(try await cancel(task, of: session, delegate)?.code == .cancelled)
        try await server.waitUntilNoConnections()
    }

    @Test("A task that is cancelled from within its own delegate method completes once")
    func fromDelegate() async throws {
        let server = try LoopbackServer { _ in .generated(length: 8 << 20) }
        defer { server.stop() }
        let delegate = RecordingDelegate(onEvent: { task, event in
            if case .data = event { task?.cancel() }
        })
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(delegate.completionCount(of: task) == 1)
        #expect(delegate.events(of: task).last == .completed(.cancelled))
    }

    @Test(
        "A task that is cancelled after it has succeeded or failed, but before its owner is told, completes as cancelled",
        arguments: ["/", "/lost"]
    )
    func afterTransfer(path: String) async throws {
        let server = try LoopbackServer { request in
            request.path == "/lost" ? .pieces([.bytes("hel"), .close, .bytes("lo")]) : .text("hello")
        }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession.forTest(delegateQueue: queue) { $0.useOneConnection() }
        let gate = Gate()
        queue.addOperation { gate.waitBlocking() }
        let calls = Watched<[HandlerResult]>([])
        let task = session.dataTask(with: server.url(path)) { data, response, error in
            calls.update { $0.append(HandlerResult(data, response, error)) }
        }
        task.resume()
        // The task has given up the only place at the host.
        _ = try await session.data(from: server.url("/"))
        task.cancel()
        #expect(task.state == .canceling)
        gate.open()
        try await calls.wait { !$0.isEmpty }
        #expect(calls.value[0].error?.code == .cancelled)
        #expect(calls.value[0].error?.failingURL == server.url(path))
        #expect(calls.value[0].data == nil)
        #expect((task.error as? URLError)?.code == .cancelled)
        session.finishTasksAndInvalidate()
        await withCheckedContinuation { continuation in
            queue.addBarrierBlock { continuation.resume() }
        }
        #expect(calls.value.count == 1)
    }

    @Test("Cancelling a completed task does nothing")
    func afterEnd() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(try await cancel(task, of: session, delegate) == nil)
        #expect(task.error == nil)
    }

    @Test("A cancelled task's completion handler is called with the cancellation, whether it was resumed or not")
    func handlers() async throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        for isResumed in [true, false] {
            let result = await withCheckedContinuation { continuation in
                let task = rig.session.dataTask(with: rig.url("/")) {
                    continuation.resume(returning: HandlerResult($0, $1, $2))
                }
                if isResumed { task.resume() }
                task.cancel()
            }
            #expect(result.error?.code == .cancelled)
            #expect(result.data == nil && result.response == nil)
        }
    }
}
