import CurlNetworking
import CurlTransport
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session that is dropped without being invalidated", .timeLimit(.minutes(1)))
struct SessionDropTests {
    @Test("A dropped session closes its connections")
    func connections() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        do {
            let session = URLSession.forTest()
            _ = try await session.data(from: server.url("/"))
            #expect(server.openConnections == 1)
        }
        try await server.waitUntilNoConnections()
    }

    @Test("A dropped session's running tasks finish first, and its delegate is let go after them")
    func runningTasks() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .pieces([.bytes("first "), .waitFor(gate), .bytes("second")]) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let task = URLSession.forTest(delegate: delegate).dataTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 6)
        gate.open()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("first second".utf8))
    }

    private static let isLoop = DispatchSpecificKey<Bool>()

    /// Notes whether it is let go on the loop of its session.
    private final class Leaving: NSObject, URLSessionDelegate {
        private let endings: Watched<[Bool]>

        init(_ endings: Watched<[Bool]>) {
            self.endings = endings
        }

        deinit {
            let isOnLoop = DispatchQueue.getSpecific(key: SessionDropTests.isLoop) == true
            endings.update { $0.append(isOnLoop) }
        }
    }

    /// The same of a session.
    private final class LeavingSession: URLSession, @unchecked Sendable {
        let endings = Watched<Watched<[Bool]>?>(nil)

        deinit {
            let isOnLoop = DispatchQueue.getSpecific(key: SessionDropTests.isLoop) == true
            endings.value?.update { $0.append(isOnLoop) }
        }
    }

    /// Calls what may be called without a task in its `deinit`.
    private final class LastWords: URLSession, @unchecked Sendable {
        let calls = Watched<Watched<Int>?>(nil)

        deinit {
            let calls = self.calls.value
            let count: @Sendable () -> Void = { calls?.update { $0 += 1 } }
            getAllTasks { _ in count() }
            getTasksWithCompletionHandler { _, _, _ in count() }
            flush(completionHandler: count)
            reset(completionHandler: count)
        }
    }

    @Test("A subclass may ask for the session's tasks, flush and reset it in its deinit")
    func lastWords() async throws {
        let calls = Watched(0)
        do {
            let session = LastWords(configuration: .ephemeral)
            withExtendedLifetime(session) { session.calls.update { $0 = calls } }
        }
        try await calls.wait { $0 == 4 }
    }

    @Test("A dropped session and its delegate aren't let go on the loop", arguments: [true, false], [true, false])
    func delegateGoes(isReadToEnd: Bool, isSubclass: Bool) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let endings = Watched<[Bool]>([])
        do {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.curl.runsTasksOnEventLoop = true
            let session: URLSession
            if isSubclass {
                let leaving = LeavingSession(configuration: configuration)
                leaving.endings.update { $0 = endings }
                session = leaving
            } else {
                session = URLSession(configuration: configuration, delegate: Leaving(endings), delegateQueue: nil)
            }
            (session.taskExecutor as? EventLoop)?.queue.setSpecific(key: Self.isLoop, value: true)
            var iterator = try await session.bytes(from: server.url("/")).0.makeAsyncIterator()
            while isReadToEnd, try await iterator.next() != nil {}
        }
        try await endings.wait { !$0.isEmpty }
        #expect(endings.value == [false])
    }

    @Test("Tasks that aren't held run to their end all the same")
    func unheldTasks() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let result = await URLSession.forTest().load(server.url("/"))
        #expect(result.text == "hello")
        try await server.waitUntilNoConnections()
    }

    @Test("Completed tasks that the program keeps hold neither its delegate nor its connections")
    func keptTasks() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let released = Gate()
        var tasks: [URLSessionTask] = []
        do {
            let session = URLSession.forTest(delegate: ReleaseProbe(released))
            await withCheckedContinuation { continuation in
                let task = session.dataTask(with: server.url("/")) { _, _, _ in continuation.resume() }
                tasks.append(task)
                task.resume()
            }
        }
        try await released.wait()
        try await server.waitUntilNoConnections()
        #expect(tasks.map(\.state) == [.completed])
    }

    @Test("Nothing of a dropped session is left: no descriptor, no thread, no object")
    func nothingLeft() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { _ in .text("hello") }
            func useSession() async throws {
                let released = Gate()
                do {
                    let session = URLSession.forTest(delegate: ReleaseProbe(released))
                    for _ in 0..<3 { _ = try await session.data(from: server.url("/")) }
                    let task = session.dataTask(with: server.url("/"))
                    let count = server.requestCount
                    task.resume()
                    try await server.waitForRequests(count + 1)
                    _ = session.downloadTask(with: server.url("/"))
                }
                try await released.wait()
                try await server.waitUntilNoConnections()
            }
            // The first ones start what lives as long as the process.
            for _ in 0..<8 { try await useSession() }
            let before = await ProcessUsage.atRest()
            for _ in 0..<100 { try await useSession() }
            // libcurl closes its connections first, and what it has of its own last.
            let after = await ProcessUsage.settled(like: before)
            #expect(after.descriptors.count <= before.descriptors.count)
            // Dispatch's own workers come and go.
            #expect(after.threads <= before.threads + 4)
            server.stop()
        }
    }
}
