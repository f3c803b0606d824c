import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session's delegate queue", .timeLimit(.minutes(1)))
struct SessionDelegateQueueTests {
    @Test("Without a queue from the program, a session makes a serial one of its own")
    func ownSerialQueue() async throws {
        let busy = Watched(0)
        let overlaps = Watched(0)
        let delegate = RecordingDelegate(onEvent: { _, event in
            guard event != .created else { return }
            busy.update { $0 += 1 }
            if busy.value > 1 { overlaps.update { $0 += 1 } }
            usleep(100)
            busy.update { $0 -= 1 }
        })
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        #expect(rig.session.delegateQueue.maxConcurrentOperationCount == 1)
        #expect(rig.session.delegateQueue !== OperationQueue.main)
        #expect(URLSession.forTest().delegateQueue !== rig.session.delegateQueue)
        let tasks = (0..<20).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { task.resume() }
        for task in tasks { try await delegate.success(of: task) }
        #expect(overlaps.value == 0)
    }

    @Test("A session calls no handler while a barrier block runs on its own queue")
    func ownQueueBarrier() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "data:,hello"))
        let isBusy = Watched(false)
        session.delegateQueue.addBarrierBlock {
            isBusy.update { $0 = true }
            usleep(50_000)
            isBusy.update { $0 = false }
        }
        let wasBusy = await withCheckedContinuation { continuation in
            session.dataTask(with: url) { _, _, _ in continuation.resume(returning: isBusy.value) }.resume()
        }
        #expect(!wasBusy)
    }

    @Test("A queue that the program gives is used for the delegate and for completion handlers")
    func givenQueue() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let strays = Watched(0)
        let delegate = RecordingDelegate(onEvent: { _, event in
            if event != .created, OperationQueue.current !== queue { strays.update { $0 += 1 } }
        })
        let session = URLSession.forTest(delegate: delegate, delegateQueue: queue)
        #expect(session.delegateQueue === queue)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        _ = try await delegate.completion(of: task)
        let isOnQueue = await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/")) { _, _, _ in
                continuation.resume(returning: OperationQueue.current === queue)
            }.resume()
        }
        #expect(isOnQueue)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(strays.value == 0)
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
    }

    @Test("On a concurrent queue each task's messages keep their order and never overlap")
    func concurrentQueue() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 8
        let busy = Watched<[Int: Int]>([:])
        let overlaps = Watched(0)
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard let task, event != .created else { return }
            let identifier = task.taskIdentifier
            busy.update { $0[identifier, default: 0] += 1 }
            if busy.value[identifier] != 1 { overlaps.update { $0 += 1 } }
            usleep(50)
            busy.update { $0[identifier, default: 0] -= 1 }
        })
        let rig = try Rig(delegate: delegate, delegateQueue: queue) { _ in .generated(length: 300_000, seed: 7) }
        defer { rig.stop() }
        let tasks = (0..<16).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { task.resume() }
        let expected = GeneratedBody.bytes(seed: 7, length: 300_000)
        for task in tasks {
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == expected)
            #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        }
        #expect(overlaps.value == 0)
    }

    /// Answers at once, and returns from the question only when the session has done much more.
    private final class Lingering: NSObject, URLSessionDataDelegate {
        let more: URL
        let calls = Watched<[String]>([])
        let completed = Gate()

        init(_ more: URL) {
            self.more = more
        }

        private func linger(_ name: String, in session: URLSession) {
            calls.update { $0.append("\(name) begins") }
            let enough = Gate()
            load(20, in: session, then: enough)
            enough.waitBlocking()
            calls.update { $0.append("\(name) ends") }
        }

        private func load(_ count: Int, in session: URLSession, then enough: Gate) {
            guard count > 0 else { return enough.open() }
            session.dataTask(with: more) { _, _, _ in self.load(count - 1, in: session, then: enough) }.resume()
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.useCredential, URLCredential(user: "user", password: "password", persistence: .none))
            linger("challenge", in: session)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(request)
            linger("redirect", in: session)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            calls.update { $0.append("data") }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            calls.update { $0.append("completed") }
            completed.open()
        }
    }

    @Test(
        "On a concurrent queue, a question passed on to the session's delegate doesn't overlap with other messages",
        arguments: ["challenge", "redirect"]
    )
    func passedOn(question: String) async throws {
        final class Unwilling: NSObject, URLSessionTaskDelegate {}
        let server = try LoopbackServer { request in
            switch request.path {
            case "/redirect": .status(302).header("Location", "/")
            case "/challenge" where request.header("Authorization") == nil:
                .status(401).header("WWW-Authenticate", "Basic realm=vault")
            default: .text("hello")
            }
        }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let delegate = Lingering(server.url("/"))
        let session = URLSession.forTest(delegate: delegate, delegateQueue: queue)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/\(question)"))
        task.delegate = Unwilling()
        task.resume()
        try await delegate.completed.wait()
        #expect(delegate.calls.value == ["\(question) begins", "\(question) ends", "data", "completed"])
    }

    @Test(
        "On a concurrent queue, even the session's own, a slow delegate method of one task doesn't hold up another task",
        arguments: [true, false]
    )
    func independentTasks(isOwn: Bool) async throws {
        let gate = Gate()
        let delegate = RecordingDelegate(onEvent: { task, event in
            if task?.taskDescription == "slow", event == .response(status: 200) { gate.waitBlocking() }
        })
        let rig = try Rig(delegate: delegate, delegateQueue: isOwn ? nil : OperationQueue()) { _ in .text("hello") }
        defer { rig.stop() }
        rig.session.delegateQueue.maxConcurrentOperationCount = 2
        #expect(rig.session.delegateQueue.underlyingQueue == nil)
        let slow = rig.session.dataTask(with: rig.url("/"))
        slow.taskDescription = "slow"
        slow.resume()
        try await delegate.wait(for: slow) { $0 == .response(status: 200) }
        let quick = rig.session.dataTask(with: rig.url("/"))
        quick.resume()
        try await delegate.success(of: quick)
        #expect(delegate.completionCount(of: slow) == 0)
        gate.open()
        try await delegate.success(of: slow)
    }
}
