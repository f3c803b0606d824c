import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Requests with a begin date", .timeLimit(.minutes(1)))
struct DelayedRequestTests {
    /// Not so soon that it could be over before the task is resumed.
    private static func soon(_ seconds: TimeInterval = 1) -> Date { Date(timeIntervalSinceNow: seconds) }

    @Test("Nothing is sent before the date; then the delegate is asked, and says to go on")
    func continued() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let url = server.url("/later")
        let delegate = TimelineDelegate(onDelayedRequest: { request, answer in
            #expect(request.url == url)
            #expect(server.connectionCount == 0)
            answer(.continueLoading, nil)
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: url)
        let date = Self.soon()
        task.earliestBeginDate = date
        #expect(task.earliestBeginDate == date)
        task.resume()
        let story = try await delegate.completeStory()
        #expect(Date() >= date)
        #expect(story == ["created", "delayed request", "response", "data", "metrics", "completed"])
    }

    @Test("The resource clock waits for the date, however that moves, as if the system's clock had been set")
    func movedDate() async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.timeoutIntervalForResource = 1.5
        }
        defer { rig.stop() }
        let result = Watched<HandlerResult?>(nil)
        let task = rig.session.dataTask(with: rig.url("/")) { data, response, error in
            result.update { $0 = HandlerResult(data, response, error) }
        }
        task.earliestBeginDate = Self.soon(1.5)
        task.resume()
        task.earliestBeginDate = Self.soon(3.5)
        try await result.wait { $0 != nil }
        #expect(result.value?.error == nil)
        #expect(result.value?.text == "hello")
    }

    @Test("The delegate can have another request sent at the begin date")
    func replaced() async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let new = URLRequest(server.url("/new"), method: "PUT", headers: ["X-New": "1"], body: Data("hello".utf8))
        let delegate = TimelineDelegate(onDelayedRequest: { $1(.useNewRequest, new) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/old"))
        task.earliestBeginDate = Self.soon()
        task.resume()
        _ = try await delegate.completeStory()
        #expect(server.requests.map(\.path) == ["/new"])
        #expect(server.requests.first?.body == Data("hello".utf8))
        #expect(task.currentRequest == new)
        #expect(task.originalRequest?.url == server.url("/old"))
    }

    @Test("A delegate that chooses a new request and gives none fails the task")
    func replacedByNothing() async throws {
        let delegate = TimelineDelegate(onDelayedRequest: { $1(.useNewRequest, nil) })
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.earliestBeginDate = Self.soon()
        task.resume()
        _ = try await delegate.completeStory()
        #expect(delegate.record.value.error?.code == .badURL)
        #expect(rig.server.connectionCount == 0)
    }

    @Test("The delegate can cancel a task at its begin date")
    func cancelled() async throws {
        let delegate = TimelineDelegate(onDelayedRequest: { $1(.cancel, nil) })
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.earliestBeginDate = Self.soon()
        task.resume()
        #expect(try await delegate.completeStory() == ["created", "delayed request", "metrics", "completed"])
        #expect(delegate.record.value.error?.code == .cancelled)
        #expect(rig.server.connectionCount == 0)
    }

    @Test("A task that waits for its begin date takes no place at its host")
    func noPlace() async throws {
        let rig = try Rig {
            .text($0.path)
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/later"))
        task.earliestBeginDate = .distantFuture
        task.resume()
        #expect(await rig.session.load(rig.url("/now")).text == "/now")
        #expect(rig.server.requests.map(\.path) == ["/now"])
    }

    @Test("The first of several answers about a delayed request counts")
    func severalAnswers() async throws {
        let delegate = TimelineDelegate(onDelayedRequest: { _, answer in
            answer(.continueLoading, nil)
            answer(.cancel, nil)
            answer(.useNewRequest, nil)
        })
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.earliestBeginDate = Self.soon()
        task.resume()
        _ = try await delegate.completeStory()
        #expect(task.error == nil)
        #expect(rig.server.requestCount == 1)
    }

    @Test("A handler's task is asked about too, and without a delegate it just goes on", arguments: [true, false])
    func handler(isWatched: Bool) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: isWatched ? delegate : nil) { _ in .text("hello") }
        defer { rig.stop() }
        let date = Self.soon()
        let result = await withCheckedContinuation { continuation in
            let task = rig.session.dataTask(with: rig.url("/")) {
                continuation.resume(returning: HandlerResult($0, $1, $2))
            }
            task.earliestBeginDate = date
            task.resume()
        }
        #expect(result.text == "hello")
        #expect(Date() >= date)
        #expect(delegate.story == (isWatched ? ["created", "delayed request", "metrics"] : []))
    }

    @Test("A begin date in the past delays nothing, and the delegate isn't asked")
    func past() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.earliestBeginDate = Date(timeIntervalSinceNow: -1)
        task.resume()
        #expect(try await delegate.completeStory() == ["created", "response", "data", "metrics", "completed"])
    }

    @Test(
        "A task that is cancelled before its begin date completes at once, however far that is",
        arguments: [3600, .infinity]
    )
    func cancelledBefore(delay: TimeInterval) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.earliestBeginDate = delay.isFinite ? Date(timeIntervalSinceNow: delay) : .distantFuture
        task.resume()
        #expect(task.state == .running)
        task.cancel()
        #expect(try await delegate.completeStory() == ["created", "metrics", "completed"])
    }

    @Test("The resource time-out counts from the date, the idle one from the request")
    func timeouts() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .text("hello")
        } configure: {
            $0.timeoutIntervalForResource = 2
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.earliestBeginDate = Self.soon(2.5)
        task.resume()
        _ = try await delegate.completeStory()
        #expect(task.error == nil)
    }

    @Test("A task that is suspended at its date begins, and asks, when it is resumed")
    func suspended() async throws {
        let (delegate, other) = (TimelineDelegate(), TimelineDelegate())
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/suspended"))
        let later = rig.session.dataTask(with: rig.url("/later"))
        later.delegate = other
        task.earliestBeginDate = Self.soon(1)
        later.earliestBeginDate = Self.soon(1.2)
        task.resume()
        later.resume()
        task.suspend()
        _ = try await other.completeStory()
        #expect(!delegate.story.contains("delayed request"))
        task.resume()
        #expect(try await delegate.completeStory().contains("delayed request"))
        #expect(rig.server.requests.map(\.path) == ["/later", "/suspended"])
    }
}
