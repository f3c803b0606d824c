import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The state of a task", .timeLimit(.minutes(1)))
struct TaskStateTests {
    @Test("A new task is suspended and sends nothing")
    func startsSuspended() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/never"))
        #expect(task.state == .suspended)
        // A later task overtakes it.
        _ = try await rig.session.data(from: rig.url("/"))
        #expect(task.state == .suspended)
        #expect(rig.server.requests.map(\.path) == ["/"])
    }

    @Test("A task is running once it is resumed, and completed when its owner is told")
    func runningThenCompleted() async throws {
        let states = Watched<[URLSessionTask.State]>([])
        let delegate = RecordingDelegate(onEvent: { task, _ in
            if let task { states.update { $0.append(task.state) } }
        })
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        #expect(task.state == .running || task.state == .completed)
        _ = try await delegate.completion(of: task)
        try await states.wait { $0.count == 4 }
        #expect(states.value == [.suspended, .running, .running, .completed])
        #expect(task.state == .completed)
    }

    @Test("A task is completed within its completion handler")
    func completedInHandler() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let holder = Watched<URLSessionTask?>(nil)
        let state = await withCheckedContinuation { continuation in
            let task = rig.session.dataTask(with: rig.url("/")) { _, _, _ in
                continuation.resume(returning: holder.value?.state)
            }
            holder.update { $0 = task }
            task.resume()
        }
        #expect(state == .completed)
    }

    @Test("A task is cancelling between cancel() and its completion")
    func cancelling() async throws {
        let gate = Gate()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate, delegateQueue: queue) { _ in .never }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await rig.server.waitForRequests(1)
        queue.addOperation { gate.waitBlocking() }
        task.cancel()
        #expect(task.state == .canceling)
        #expect(task.error == nil)
        gate.open()
        _ = try await delegate.completion(of: task)
        #expect(task.state == .completed)
        #expect((task.error as? URLError)?.code == .cancelled)
    }

    @Test("Suspensions count: as many resumptions take them back")
    func nestedSuspensions() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/nested"))
        task.suspend()
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .suspended)
        _ = try await rig.session.data(from: rig.url("/other"))
        #expect(rig.server.requests.map(\.path) == ["/other"])
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("Resuming a running task does nothing, and isn't saved up against a later suspension")
    func resumingRunning() async throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        for _ in 0..<5 { task.resume() }
        #expect(task.state == .running)
        task.suspend()
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .running)
    }

    @Test("A completed task stays completed, whatever is called")
    func completedForGood() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        _ = try await delegate.completion(of: task)
        task.suspend()
        task.resume()
        task.cancel()
        #expect(task.state == .completed)
        #expect(task.error == nil)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(delegate.completionCount(of: task) == 1)
        #expect(server.requestCount == 1)
    }

    @Test("The values of the states are Apple's")
    func rawValues() {
        #expect(URLSessionTask.State.running.rawValue == 0)
        #expect(URLSessionTask.State.suspended.rawValue == 1)
        #expect(URLSessionTask.State.canceling.rawValue == 2)
        #expect(URLSessionTask.State.completed.rawValue == 3)
    }
}
