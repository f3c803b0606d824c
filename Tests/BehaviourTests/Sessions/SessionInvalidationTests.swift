import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Ending a session", .timeLimit(.minutes(1)))
struct SessionInvalidationTests {
    @Test("finishTasksAndInvalidate lets running tasks finish, then tells the delegate, last of all")
    func finishingTasks() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .pieces([.bytes("first "), .waitFor(gate), .bytes("second")]) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 6)
        session.finishTasksAndInvalidate()
        #expect(!delegate.entries.contains { $0.event == .becameInvalid })
        gate.open()
        try await delegate.invalidation()
        #expect(delegate.body(of: task) == Data("first second".utf8))
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        #expect(delegate.entries.last?.event == .becameInvalid)
        #expect(delegate.entries.count { $0.event == .becameInvalid } == 1)
    }

    @Test("finishTasksAndInvalidate waits for tasks that were created and are resumed later")
    func finishingCreatedTasks() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        session.finishTasksAndInvalidate()
        task.resume()
        try await delegate.invalidation()
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("invalidateAndCancel cancels every task, each completing once, before the session becomes invalid")
    func cancelling() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let running = (0..<3).map { _ in session.dataTask(with: server.url("/")) }
        let suspended = session.dataTask(with: server.url("/"))
        for task in running { task.resume() }
        try await server.waitForRequests(3)
        session.invalidateAndCancel()
        try await delegate.invalidation()
        for task in running + [suspended] {
            #expect(delegate.events(of: task) == [.created, .completed(.cancelled)])
            #expect(task.state == .completed)
        }
        #expect(delegate.entries.last?.event == .becameInvalid)
        try await server.waitUntilNoConnections()
    }

    @Test("A session without tasks becomes invalid at once")
    func withoutTasks() async throws {
        let delegate = RecordingDelegate()
        URLSession.forTest(delegate: delegate).finishTasksAndInvalidate()
        try await delegate.invalidation()
        let other = RecordingDelegate()
        URLSession.forTest(delegate: other).invalidateAndCancel()
        try await other.invalidation()
    }

    @Test("Invalidating twice tells the delegate once")
    func twice() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        session.finishTasksAndInvalidate()
        session.invalidateAndCancel()
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        await withCheckedContinuation { continuation in
            session.delegateQueue.addOperation { continuation.resume() }
        }
        #expect(delegate.entries.map(\.event) == [.becameInvalid])
    }

    @Test("invalidateAndCancel after finishTasksAndInvalidate cancels what was still to finish")
    func cancellingWhileFinishing() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        session.finishTasksAndInvalidate()
        session.invalidateAndCancel()
        try await delegate.invalidation()
        #expect(delegate.completionCount(of: task) == 1)
        #expect(task.error as? URLError != nil)
    }

    @Test("The delegate is kept until it has heard that the session is invalid, and let go after it")
    func delegateLifetime() async throws {
        let heard = Gate()
        let released = Gate()
        var delegate: LifetimeDelegate? = LifetimeDelegate(heard: heard, released: released)
        weak let reference = delegate
        let session = URLSession.forTest(delegate: delegate)
        delegate = nil
        #expect(reference != nil)
        #expect(session.delegate != nil)
        session.finishTasksAndInvalidate()
        try await heard.wait()
        try await released.wait()
        #expect(session.delegate == nil)
    }

    @Test("Neither way of invalidating has an effect on the shared session")
    func shared() async throws {
        let server = try LoopbackServer { _ in .text("still here") }
        defer { server.stop() }
        #expect(URLSession.shared === URLSession.shared)
        #expect(URLSession.shared.delegate == nil)
        URLSession.shared.finishTasksAndInvalidate()
        URLSession.shared.invalidateAndCancel()
        let (data, _) = try await URLSession.shared.data(from: server.url("/"))
        #expect(data == Data("still here".utf8))
    }

    @Test("An invalidated session's connections are closed")
    func connections() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        _ = try await session.data(from: server.url("/"))
        #expect(server.openConnections == 1)
        session.finishTasksAndInvalidate()
        try await server.waitUntilNoConnections()
    }
}

extension SessionInvalidationTests {
    @Test("The session has its delegate while that hears of the invalidation", arguments: [true, false])
    func delegateWithinLastMessage(cancels: Bool) async throws {
        let seen = Watched<[ObjectIdentifier?]>([])
        let delegate = InvalidationDelegate { session in
            seen.update { $0.append(session.delegate.map { ObjectIdentifier($0) }) }
        }
        let session = URLSession.forTest(delegate: delegate)
        if cancels { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        try await seen.wait { !$0.isEmpty }
        #expect(seen.value == [ObjectIdentifier(delegate)])
    }

    enum Loading: CaseIterable {
        case data, download, bytes

        func load(_ url: URL, in session: URLSession) async throws -> Data {
            switch self {
            case .data:
                return try await session.data(from: url).0
            case .download:
                let (file, _) = try await session.download(from: url)
                defer { try? FileManager.default.removeItem(at: file) }
                return try Data(contentsOf: file)
            case .bytes:
                var body = Data()
                for try await chunk in try await session.bytes(from: url).0.chunks { body.append(chunk) }
                return body
            }
        }
    }

    @Test(
        "A session that is to finish when its delegate hears of an async task waits for it",
        arguments: Loading.allCases
    )
    func finishingInDidCreateTask(loading: Loading) async throws {
        let server = try LoopbackServer { request in
            request.header("Authorization") == nil
                ? .text("closed", status: 401).header("WWW-Authenticate", #"Basic realm="vault""#) : .text("hello")
        }
        defer { server.stop() }
        let delegate = EndingDelegate { $0.finishTasksAndInvalidate() }
        let session = URLSession.forTest(delegate: delegate)
        #expect(try await loading.load(server.url("/"), in: session) == Data("hello".utf8))
        try await delegate.events.wait { $0.contains("invalid") }
        #expect(delegate.events.value == ["created", "challenge", "invalid"])
    }

    @Test(
        "A session that is invalidated and cancelled when its delegate hears of an async task cancels it",
        arguments: Loading.allCases
    )
    func cancellingInDidCreateTask(loading: Loading) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = EndingDelegate { $0.invalidateAndCancel() }
        let session = URLSession.forTest(delegate: delegate)
        let error = await #expect(throws: URLError.self) { try await loading.load(server.url("/"), in: session) }
        #expect(error?.code == .cancelled)
        try await delegate.events.wait { $0.contains("invalid") }
        #expect(delegate.events.value == ["created", "invalid"])
        #expect(server.requestCount == 0)
    }
}

/// Ends the session when it hears of a task.
private final class EndingDelegate: NSObject, URLSessionTaskDelegate {
    let events = Watched<[String]>([])
    private let end: @Sendable (URLSession) -> Void

    init(end: @escaping @Sendable (URLSession) -> Void) {
        self.end = end
    }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        events.update { $0.append("created") }
        end(session)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        events.update { $0.append("challenge") }
        completionHandler(.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        events.update { $0.append("invalid") }
    }
}

private final class InvalidationDelegate: NSObject, URLSessionDelegate {
    private let hear: @Sendable (URLSession) -> Void

    init(hear: @escaping @Sendable (URLSession) -> Void) {
        self.hear = hear
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        hear(session)
    }
}

private final class LifetimeDelegate: NSObject, URLSessionDelegate {
    private let heard: Gate
    private let released: Gate

    init(heard: Gate, released: Gate) {
        self.heard = heard
        self.released = released
    }

    deinit {
        released.open()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        heard.open()
    }
}
