import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("When metrics are delivered", .timeLimit(.minutes(1)))
struct MetricsDeliveryTests {
    @Test("A delegate gets the metrics before the completion")
    func delegate() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
    }

    @Test("A handler is called after the metrics")
    func handler() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        delegate.note("handler")
        #expect(delegate.story == ["created", "metrics", "handler"])
    }

    @Test("A download's file comes before its metrics")
    func download() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        rig.session.downloadTask(with: rig.url("/")).resume()
        let story = try await delegate.completeStory()
        #expect(story == ["created", "wrote", "finished downloading", "metrics", "completed"])
    }

    @Test(
        "Async calls return after the metrics for a delegate of their own, but don't wait for the session's",
        arguments: [true, false]
    )
    func async(isOwn: Bool) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: isOwn ? nil : delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let own = isOwn ? delegate : nil
        _ = try await rig.session.data(from: rig.url("/"), delegate: own)
        if !isOwn { try await rig.session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 1)
        let (file, _) = try await rig.session.download(from: rig.url("/"), delegate: own)
        try? FileManager.default.removeItem(at: file)
        if !isOwn { try await rig.session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 2)
        _ = try await rig.session.upload(
            for: URLRequest(rig.url("/"), method: "PUT"),
            from: Data("hello".utf8),
            delegate: own
        )
        if !isOwn { try await rig.session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 3)
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"), delegate: own)
        for try await _ in bytes {}
        if !isOwn { try await rig.session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 4)
        #expect(!delegate.story.contains("completed"))
    }

    @Test("A task's own delegate gets the metrics instead of the session's")
    func precedence() async throws {
        let (own, ofSession) = (TimelineDelegate(), TimelineDelegate())
        let rig = try Rig(delegate: ofSession) { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"), delegate: own)
        #expect(own.story == ["created", "data", "metrics"])
        #expect(ofSession.story == [])
    }

    @Test("A delegate that is set while the task runs gets metrics of the requests that begin after that")
    func lateDelegate() async throws {
        let (begun, answered) = (Gate(), Gate())
        let rig = try Rig { request in
            guard request.path == "/from" else { return .text("hello") }
            return .status(302).header("Location", "/to").after([.open(begun), .waitFor(answered)])
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/from"))
        task.resume()
        try await begun.wait()
        let delegate = TimelineDelegate()
        task.delegate = delegate
        answered.open()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
        let metrics = try await delegate.metrics()
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map(\.request.url) == [rig.url("/to")])
    }

    @Test("A task's own delegate that doesn't implement the method passes the metrics on")
    func passedOn() async throws {
        final class Nothing: NSObject, URLSessionTaskDelegate {}
        let ofSession = TimelineDelegate()
        let rig = try Rig(delegate: ofSession) { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"), delegate: Nothing())
        #expect(ofSession.story == ["created", "metrics"])
    }

    @Test("Tasks that fail, in the middle or before their first request, have metrics too", arguments: [true, false])
    func failed(beginsLoading: Bool) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 10, of: 20)) }
        defer { rig.stop() }
        let url = beginsLoading ? rig.url("/") : try #require(URL(string: "nonsense://host/"))
        rig.session.dataTask(with: url).resume()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
        #expect(delegate.record.value.error != nil)
        let metrics = try await delegate.metrics()
        #expect(metrics.transactionMetrics.count == (beginsLoading ? 1 : 0))
        #expect(metrics.transactionMetrics.allSatisfy { $0.countOfResponseBodyBytesReceived == 10 })
    }

    @Test("A cancelled task has metrics, with what it had received", arguments: [true, false])
    func cancelled(isUnderWay: Bool) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .pieces([.bytes("0123456789"), .never, .bytes("x")]) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        if isUnderWay {
            task.resume()
            try await delegate.wait(for: "data")
        }
        task.cancel()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
        let transactions = try await delegate.metrics().transactionMetrics
        #expect(transactions.map(\.countOfResponseBodyBytesReceived) == (isUnderWay ? [10] : []))
    }

    @Test("Without a delegate no metrics are gathered, and async calls don't wait for the queue")
    func unwatched() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.isSuspended = true
        let session = URLSession.forTest(delegateQueue: queue)
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(data == Data("hello".utf8))
        queue.isSuspended = false
        session.invalidateAndCancel()
    }
}
