import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session keeps its tasks from their creation", .timeLimit(.minutes(1)))
struct SessionKeepsTasksTests {
    @Test("A task that only the session holds can be resumed", arguments: 0..<3)
    func weakTask(kind: Int) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        weak let task: URLSessionTask? =
            switch kind {
            case 0: session.dataTask(with: server.url("/"))
            case 1: session.uploadTask(with: URLRequest(server.url("/"), method: "PUT"), from: Data("x".utf8))
            default: session.downloadTask(with: server.url("/"))
            }
        let held = try #require(task)
        #expect(await session.allTasks == [held])
        held.resume()
        try await delegate.success(of: held)
        #expect(delegate.body(of: held) == Data("hello".utf8))
        session.finishTasksAndInvalidate()
    }

    @Test("Tasks that were never resumed, and that only the session holds, go with the invalidation")
    func invalidation() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        weak let first = session.dataTask(with: url)
        weak let second = session.downloadTask(with: url) { _, _, _ in }
        #expect(first != nil && second != nil)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(first == nil && second == nil)
        #expect(delegate.entries.map(\.event) == [.created, .created, .becameInvalid])
    }

    @Test("invalidateAndCancel cancels even tasks that were never resumed, and that only the session holds")
    func cancelling() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        for _ in 0..<3 { _ = session.dataTask(with: url) }
        session.invalidateAndCancel()
        try await delegate.invalidation()
        #expect(delegate.entries.count { $0.event == .completed(.cancelled) } == 3)
    }

    @Test("A session that is dropped goes with the tasks that were never resumed")
    func droppedSession() async throws {
        let released = Gate()
        weak var session: URLSession?
        weak var task: URLSessionTask?
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        func use() {
            let created = URLSession.forTest(delegate: OpeningDelegate(released))
            session = created
            task = created.dataTask(with: url)
        }
        use()
        try await released.wait()
        #expect(session == nil && task == nil)
    }

    @Test("A task that outlives its session's object works, and all its messages name one session")
    func outlivingTask() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let sessions = Watched<Set<ObjectIdentifier>>([])
        let descriptions = Watched<[String?]>([])
        let completed = Gate()
        weak var session: URLSession?
        func makeTask() -> URLSessionDataTask {
            let delegate = NamingDelegate { named, isLast in
                sessions.update { _ = $0.insert(ObjectIdentifier(named)) }
                descriptions.update { $0.append(named.sessionDescription) }
                if isLast { completed.open() }
            }
            let created = URLSession.forTest(delegate: delegate)
            created.sessionDescription = "dropped"
            session = created
            return created.dataTask(with: server.url("/"))
        }
        let task = makeTask()
        #expect(session == nil)
        #expect(task.state == .suspended)
        task.resume()
        try await completed.wait()
        #expect(sessions.value.count == 1)
        #expect(descriptions.value == ["dropped", "dropped", "dropped"])
    }

    @Test("Sessions, their tasks and their connections all end, in whatever order they are let go of")
    func storm() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { _ in .text("hello") }
            let finished = Watched(0)
            let released = Watched(0)
            let rounds = 400
            DispatchQueue.concurrentPerform(iterations: rounds) { number in
                let session = URLSession.forTest(delegate: CountingDelegate { released.update { $0 += 1 } })
                let tasks = (0..<4).map { _ in
                    session.dataTask(with: server.url("/")) { _, _, _ in finished.update { $0 += 1 } }
                }
                DispatchQueue.global().async { tasks[0].resume() }
                tasks[1].resume()
                switch number % 4 {
                case 0: session.finishTasksAndInvalidate()
                case 1: DispatchQueue.global().async { session.invalidateAndCancel() }
                case 2: tasks[2].cancel()
                default: break
                }
            }
            try await released.wait { $0 == rounds }
            try await server.waitUntilNoConnections()
            #expect(finished.value >= 2 * rounds)
            server.stop()
        }
    }
}

private final class OpeningDelegate: NSObject, URLSessionDelegate {
    private let released: Gate

    init(_ released: Gate) {
        self.released = released
    }

    deinit {
        released.open()
    }
}

private final class CountingDelegate: NSObject, URLSessionDelegate {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) {
        self.release = release
    }

    deinit {
        release()
    }
}

private final class NamingDelegate: NSObject, URLSessionDataDelegate {
    private let hear: @Sendable (URLSession, Bool) -> Void

    init(hear: @escaping @Sendable (URLSession, Bool) -> Void) {
        self.hear = hear
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        hear(session, false)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        hear(session, false)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        hear(session, true)
    }
}
