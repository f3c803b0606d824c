import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("When metrics are delivered", .timeLimit(.minutes(1)))
struct MetricsDeliveryTests {
    @Test("A delegate gets them before the completion")
    func delegate() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: server.url("/")).resume()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
    }

    @Test("A handler is called behind them")
    func handler() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/"))
        delegate.note("handler")
        #expect(delegate.story == ["created", "metrics", "handler"])
    }

    @Test("A download's file comes before them")
    func download() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.downloadTask(with: server.url("/")).resume()
        let story = try await delegate.completeStory()
        #expect(story == ["created", "wrote", "finished downloading", "metrics", "completed"])
    }

    @Test(
        "Async calls return behind those for a delegate of their own, but not the session's",
        arguments: [true, false]
    )
    func async(isOwn: Bool) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: isOwn ? nil : delegate)
        defer { session.invalidateAndCancel() }
        let own = isOwn ? delegate : nil
        _ = try await session.data(from: server.url("/"), delegate: own)
        if !isOwn { try await session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 1)
        let (file, _) = try await session.download(from: server.url("/"), delegate: own)
        try? FileManager.default.removeItem(at: file)
        if !isOwn { try await session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 2)
        _ = try await session.upload(
            for: URLRequest(server.url("/"), method: "PUT"),
            from: Data("hello".utf8),
            delegate: own
        )
        if !isOwn { try await session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 3)
        let (bytes, _) = try await session.bytes(from: server.url("/"), delegate: own)
        for try await _ in bytes {}
        if !isOwn { try await session.allTasksCompleted() }
        #expect(delegate.record.value.metrics.count == 4)
        #expect(!delegate.story.contains("completed"))
    }

    @Test("A task's own delegate gets them instead of the session's")
    func precedence() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let (own, ofSession) = (TimelineDelegate(), TimelineDelegate())
        let session = URLSession.forTest(delegate: ofSession)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"), delegate: own)
        #expect(own.story == ["created", "data", "metrics"])
        #expect(ofSession.story == [])
    }

    @Test("Own delegates that don't implement them pass them on")
    func passedOn() async throws {
        final class Nothing: NSObject, URLSessionTaskDelegate {}
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let ofSession = TimelineDelegate()
        let session = URLSession.forTest(delegate: ofSession)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"), delegate: Nothing())
        #expect(ofSession.story == ["created", "metrics"])
    }

    @Test("Tasks that fail, in the middle or before their first request, have them too", arguments: [true, false])
    func failed(beginsLoading: Bool) async throws {
        let server = try LoopbackServer { _ in .fault(.insideBody(after: 10, of: 20)) }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = beginsLoading ? server.url("/") : try #require(URL(string: "nonsense://host/"))
        session.dataTask(with: url).resume()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
        #expect(delegate.record.value.error != nil)
        let metrics = try await delegate.metrics()
        #expect(metrics.transactionMetrics.count == (beginsLoading ? 1 : 0))
        #expect(metrics.transactionMetrics.allSatisfy { $0.countOfResponseBodyBytesReceived == 10 })
    }

    @Test("A cancelled task has them, with what it had received", arguments: [true, false])
    func cancelled(isUnderWay: Bool) async throws {
        let server = try LoopbackServer { _ in .pieces([.bytes("0123456789"), .never, .bytes("x")]) }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/"))
        if isUnderWay {
            task.resume()
            try await delegate.wait(for: "data")
        }
        task.cancel()
        #expect(try await delegate.completeStory().suffix(2) == ["metrics", "completed"])
        let transactions = try await delegate.metrics().transactionMetrics
        #expect(transactions.map(\.countOfResponseBodyBytesReceived) == (isUnderWay ? [10] : []))
    }

    @Test("Without a delegate there is no one to gather them for, and async calls don't wait for the queue")
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
