import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Each message to a delegate is like an operation of its own", .timeLimit(.minutes(1)))
struct MessageOperationTests {
    @Test("What a message adds to the delegate queue runs before the next message", arguments: 0..<3)
    func delegateQueue(kind: Int) async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let delegate = AddingDelegate { body in queue.addOperation(body) }
        try await run(delegate, on: queue, kind: kind)
    }

    @Test("What a message adds to the delegate queue's underlying queue runs before the next message", arguments: 0..<3)
    func underlyingQueue(kind: Int) async throws {
        let underlying = DispatchQueue(label: "test.delegates")
        let queue = OperationQueue()
        queue.underlyingQueue = underlying
        let delegate = AddingDelegate { body in underlying.async(execute: body) }
        try await run(delegate, on: queue, kind: kind)
    }

    private func run(_ delegate: AddingDelegate, on queue: OperationQueue, kind: Int) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest(delegate: delegate, delegateQueue: queue)
        let (task, story): (URLSessionTask, [String]) =
            switch kind {
            case 0: (session.dataTask(with: server.url("/")), ["response", "data", "metrics", "completed"])
            case 1: (session.downloadTask(with: server.url("/")), ["wrote", "file", "metrics", "completed"])
            default:
                (
                    session.dataTask(with: server.url("/")) { _, _, _ in delegate.note("handler") },
                    ["metrics", "handler"]
                )
            }
        task.resume()
        session.finishTasksAndInvalidate()
        let expected = (story + ["invalid"]).flatMap { [$0, "after " + $0] }
        try await delegate.story.wait { $0.count >= expected.count }
        #expect(delegate.story.value == expected)
    }

    @Test(
        "No message of many tasks comes between another and what that has added to the queue",
        arguments: [true, false]
    )
    func manyTasks(isUnderlying: Bool) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let underlying = DispatchQueue(label: "test.delegates")
        if isUnderlying { queue.underlyingQueue = underlying }
        let delegate = AddingDelegate { body in
            if isUnderlying { underlying.async(execute: body) } else { queue.addOperation(body) }
        }
        let session = URLSession.forTest(delegate: delegate, delegateQueue: queue)
        for _ in 0..<50 { session.dataTask(with: server.url("/")).resume() }
        session.finishTasksAndInvalidate()
        try await delegate.story.wait { $0.last == "after invalid" }
        let story = delegate.story.value
        for index in stride(from: 0, to: story.count - 1, by: 2) {
            #expect(story[index + 1] == "after " + story[index])
        }
        #expect(story.count { $0 == "completed" } == 50)
        #expect(story.count == 2 * (4 * 50 + 1))
    }

    @Test("A queue that a message suspends delivers nothing more until it goes on")
    func suspendedByMessage() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let delegate = AddingDelegate { _ in queue.isSuspended = true }
        let rig = try Rig(delegate: delegate, delegateQueue: queue) { _ in .text("hello") }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        for (index, name) in ["response", "data", "metrics", "completed"].enumerated() {
            try await delegate.story.wait { $0.count == index + 1 }
            #expect(delegate.story.value.last == name)
            #expect(queue.isSuspended)
            queue.isSuspended = false
        }
    }

    @Test("Messages that the session's delegate is known to lack take no operation, and their questions are answered")
    func lackingMethods() async throws {
        let (story, operations) = try await self.story(ofWaiting: 1)
        #expect(story == ["data", "completed", "data", "completed"])
        #expect(operations == 2)
    }

    @Test("Messages about several tasks that are due together share an operation, one of each task")
    func together() async throws {
        let (story, operations) = try await self.story(ofWaiting: 3)
        #expect(story.suffix(6) == ["data", "data", "data", "completed", "completed", "completed"])
        #expect(operations == 2)
    }

    /// What a delegate hears of a first task, with which it is found out what it lacks, and of `count` others, all of whose messages wait
    /// until the queue goes on; and how many operations these take.
    private func story(ofWaiting count: Int) async throws -> (story: [String], operations: Int) {
        let queue = CountingQueue()
        queue.maxConcurrentOperationCount = 1
        let delegate = TerseDelegate()
        let rig = try Rig(delegate: delegate, delegateQueue: queue) {
            $0.path == "/later" ? .fault(.beforeAnyByte, then: .hang) : .text("hello")
        } configure: {
            $0.httpMaximumConnectionsPerHost = 1
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { $0.count == 2 }
        queue.isSuspended = true
        let before = queue.count.value
        for _ in 0..<count { rig.session.dataTask(with: rig.url("/")).resume() }
        rig.session.dataTask(with: rig.url("/later")).resume()
        // Once the last task has the connection, and its loop has gone on to another round, all messages about the others wait.
        try await rig.server.waitForRequests(count + 2)
        for _ in 0..<2 { _ = await rig.session.connections }
        queue.isSuspended = false
        try await delegate.story.wait { $0.count == 2 * (count + 1) }
        return (delegate.story.value, queue.count.value - before)
    }

    @Test("A task's own delegate passes on what it lacks, also when that is known")
    func passedOn() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let delegate = AddingDelegate { body in queue.addOperation(body) }
        let rig = try Rig(delegate: delegate, delegateQueue: queue) { _ in .text("hello") }
        defer { rig.stop() }
        for number in 1...2 {
            let task = rig.session.dataTask(with: rig.url("/"))
            let own = TerseDelegate()
            task.delegate = own
            task.resume()
            try await own.story.wait { $0.last == "completed" }
            #expect(delegate.story.value.count { $0 == "response" } == number)
            #expect(delegate.story.value.count { $0 == "metrics" } == number)
        }
    }

    @Test("Handlers that wait together keep their order, and one that suspends the queue holds up the others")
    func handlers() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let rig = try Rig(delegateQueue: queue) { _ in .text("hello") }
        defer { rig.stop() }
        let handled = Watched(0)
        queue.isSuspended = true
        let tasks = (0..<5).map { _ in
            rig.session.dataTask(with: rig.url("/")) { _, _, _ in
                queue.isSuspended = true
                handled.update { $0 += 1 }
            }
        }
        for task in tasks { task.resume() }
        try await rig.server.waitForRequests(5)
        for count in 1...5 {
            queue.isSuspended = false
            try await handled.wait { $0 == count }
            #expect(queue.isSuspended)
        }
    }
}

/// Counts the operations that are added to it.
private final class CountingQueue: OperationQueue, @unchecked Sendable {
    let count = Watched(0)

    override func addOperation(_ operation: Operation) {
        count.update { $0 += 1 }
        super.addOperation(operation)
    }
}

/// Has no methods but those for the body and the end.
private final class TerseDelegate: NSObject, URLSessionDataDelegate {
    let story = Watched<[String]>([])

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        story.update { $0.append("data") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        story.update { $0.append("completed") }
    }
}

/// Writes down its messages, and has `add` run something after each of them.
private final class AddingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    let story = Watched<[String]>([])
    private let add: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(add: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.add = add
    }

    func note(_ name: String) {
        add { self.story.update { $0.append("after " + name) } }
        story.update { $0.append(name) }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note("invalid")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        note("metrics")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note("completed")
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note("response")
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("data")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        note("file")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        note("wrote")
    }
}
