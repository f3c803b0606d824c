import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A task's own delegate", .timeLimit(.minutes(1)))
struct TaskDelegateTests {
    @Test("A task's own delegate gets its messages instead of the session's delegate")
    func preferred() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let sessionDelegate = RecordingDelegate()
        let own = RecordingDelegate()
        let session = URLSession.forTest(delegate: sessionDelegate)
        let task = session.dataTask(with: server.url("/"))
        task.delegate = own
        #expect(task.delegate === own)
        task.resume()
        try await own.success(of: task)
        #expect(own.story(of: task) == ["response", "data", "completed"])
        session.finishTasksAndInvalidate()
        try await sessionDelegate.invalidation()
        #expect(sessionDelegate.entries.map(\.event) == [.created, .becameInvalid])
    }

    @Test("A message that a task's own delegate doesn't implement goes to the session's delegate")
    func fallback() async throws {
        final class CompletionOnly: NSObject, URLSessionDataDelegate {
            let completed = Gate()
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.open()
            }
        }
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let sessionDelegate = RecordingDelegate()
        let own = CompletionOnly()
        let session = URLSession.forTest(delegate: sessionDelegate)
        let task = session.dataTask(with: server.url("/"))
        task.delegate = own
        task.resume()
        try await own.completed.wait()
        session.finishTasksAndInvalidate()
        try await sessionDelegate.invalidation()
        #expect(sessionDelegate.story(of: task) == ["created", "response", "data"])
    }

    @Test("A message that isn't in the protocols of a task's own delegate goes to the session's delegate")
    func fallbackAcrossProtocols() async throws {
        final class TaskOnly: NSObject, URLSessionTaskDelegate {
            let completed = Gate()
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.open()
            }
        }
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let sessionDelegate = RecordingDelegate()
        let own = TaskOnly()
        let session = URLSession.forTest(delegate: sessionDelegate)
        let task = session.dataTask(with: server.url("/"))
        task.delegate = own
        task.resume()
        try await own.completed.wait()
        session.finishTasksAndInvalidate()
        try await sessionDelegate.invalidation()
        #expect(sessionDelegate.story(of: task) == ["created", "response", "data"])
        #expect(sessionDelegate.body(of: task) == Data("hello".utf8))
    }

    @Test("A task's own delegate works in a session without one")
    func alone() async throws {
        let own = RecordingDelegate()
        let rig = try Rig { .echoBody($0) }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), from: Data("hello".utf8))
        task.delegate = own
        task.resume()
        try await own.success(of: task)
        #expect(own.story(of: task) == ["sent", "response", "data", "completed"])
    }

    @Test("Tasks of one session may each have a delegate of their own")
    func several() async throws {
        let rig = try Rig { .text($0.path) }
        defer { rig.stop() }
        let pairs = (0..<5).map { index in
            let task = rig.session.dataTask(with: rig.url("/\(index)"))
            let delegate = RecordingDelegate()
            task.delegate = delegate
            task.resume()
            return (task, delegate)
        }
        for (index, (task, delegate)) in pairs.enumerated() {
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("/\(index)".utf8))
            #expect(delegate.entries.count == 3)
        }
    }

    @Test("A delegate passed to an async call hears first of the creation, then of the bytes sent and received")
    func asyncCalls() async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        let own = RecordingDelegate()
        let body = GeneratedBody.bytes(seed: 1, length: 100_000)
        let request = URLRequest(server.url("/"), method: "PUT")
        let (data, _) = try await session.upload(for: request, from: body, delegate: own)
        #expect(data == body)
        try await own.wait(for: "sent")
        #expect(own.entries.first?.event == .created)
        #expect(own.entries.allSatisfy { ["created", "sent", "data"].contains($0.event.name) })
        session.finishTasksAndInvalidate()
    }

    @Test("A task's own delegate can configure the task when it hears of its creation")
    func configuring() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let created = Watched<URLSessionTask?>(nil)
        let own = RecordingDelegate(onEvent: { task, event in
            guard event == .created else { return }
            task?.taskDescription = "mine"
            created.update { $0 = task }
        })
        _ = try await rig.session.data(from: rig.url("/"), delegate: own)
        #expect(created.value?.taskDescription == "mine")
        #expect(created.value?.state == .completed)
    }

    @Test("A task keeps its own delegate until the end, and no longer")
    func lifetime() async throws {
        final class Probe: NSObject, URLSessionDataDelegate {
            let (completed, released): (Gate, Gate)

            init(_ completed: Gate, _ released: Gate) {
                (self.completed, self.released) = (completed, released)
            }

            deinit {
                released.open()
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.open()
            }
        }
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let (completed, released) = (Gate(), Gate())
        let task = rig.session.dataTask(with: rig.url("/"))
        task.delegate = Probe(completed, released)
        #expect(!released.isOpen)
        task.resume()
        try await completed.wait()
        try await released.wait()
        #expect(task.delegate == nil)
    }
}
