import CurlNetworking
import CurlTransport
import Dispatch
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Swift tasks on a session's event loop", .timeLimit(.minutes(1)))
struct TaskExecutorTests {
    private static func session(_ configure: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
        let session = URLSession.forTest { configuration in
            configuration.curl.runsTasksOnEventLoop = true
            configure(configuration)
        }
        (session.taskExecutor as? EventLoop)?.queue.setSpecific(key: key, value: true)
        return session
    }

    private static let key = DispatchSpecificKey<Bool>()

    /// Whether the caller runs on the loop of a session made here.
    fileprivate static var isOnLoop: Bool { DispatchQueue.getSpecific(key: key) == true }

    @Test("Without the option there is no executor, and a task runs where it would run anyway")
    func standard() async throws {
        #expect(!URLSessionConfiguration.default.curl.runsTasksOnEventLoop)
        #expect(URLSession.shared.taskExecutor == nil)
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(session.taskExecutor == nil)
        let isOnLoop = await withTaskExecutorPreference(session.taskExecutor) { Self.isOnLoop }
        #expect(!isOnLoop)
    }

    private actor Counter {
        private var count = 0

        func increment() -> Bool {
            count += 1
            return TaskExecutorTests.isOnLoop
        }
    }

    @Test("Child tasks and actors stay on the loop; tasks of their own don't")
    func relatives() async throws {
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let counter = Counter()
        let places = await withTaskExecutorPreference(session.taskExecutor) {
            async let child = Self.isOnLoop
            let own = Task { Self.isOnLoop }
            let detached = Task.detached { Self.isOnLoop }
            return await [child, counter.increment(), own.value, detached.value]
        }
        #expect(places == [true, true, false, false])
        let place = await Task(executorPreference: session.taskExecutor) { Self.isOnLoop }.value
        #expect(place)
    }

    @Test("A task is on the loop before and after each request, and so are its child tasks", arguments: [1, 3])
    func location(loops: Int) async throws {
        let servers = try (0..<3).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let session = Self.session { $0.curl.eventLoops = loops }
        defer { session.invalidateAndCancel() }
        let places = try await withTaskExecutorPreference(session.taskExecutor) {
            var places = [Self.isOnLoop]
            for server in servers {
                #expect(try await session.data(from: server.url("/")).0 == Data("hello".utf8))
                places.append(Self.isOnLoop)
            }
            return try await withThrowingTaskGroup(of: Bool.self) { [places] group in
                for server in servers {
                    group.addTask {
                        _ = try await session.data(from: server.url("/"))
                        return Self.isOnLoop
                    }
                }
                return try await group.reduce(into: places) { $0.append($1) }
            }
        }
        #expect(places == Array(repeating: true, count: 7))
    }

    @Test("Every kind of task works from a Swift task on the loop")
    func kinds() async throws {
        let server = try LoopbackServer { request in
            switch request.path {
            case "/redirect": .redirect(to: "/large")
            case "/upload": .text("\(request.body.count)")
            default: .generated(length: 300_000, seed: 7)
            }
        }
        defer { server.stop() }
        let body = GeneratedBody.bytes(seed: 7, length: 300_000)
        let directory = try TemporaryDirectory()
        let session = Self.session { $0.curl.temporaryDirectory = directory.url }
        defer { session.invalidateAndCancel() }
        try await withTaskExecutorPreference(session.taskExecutor) {
            #expect(try await session.data(from: server.url("/redirect")).0 == body)
            let (file, _) = try await session.download(from: server.url("/large"))
            #expect(try Data(contentsOf: file) == body)
            let request = URLRequest(server.url("/upload"), method: "POST")
            #expect(try await session.upload(for: request, from: body).0 == Data("300000".utf8))
            var bytes = Data()
            for try await byte in try await session.bytes(from: server.url("/large")).0 { bytes.append(byte) }
            #expect(bytes == body)
            #expect(await session.load(server.url("/large")).data == body)
        }
    }

    @Test("Swift tasks that never stop yielding leave transfers their turn")
    func yielding() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        await withTaskExecutorPreference(session.taskExecutor) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask { while !Task.isCancelled { await Task.yield() } }
                }
                for _ in 0..<20 { #expect(await session.load(server.url("/")).text == "hello") }
                group.cancelAll()
            }
        }
    }

    @Test("Swift tasks that never stop yielding don't keep responses over HTTP/2 from ending")
    func yieldingBesideHTTP2() async throws {
        let nginx = try NginxHTTP2.shared()
        let session = Self.session { $0.curl.httpVersion = .http2PriorKnowledge }
        defer { session.invalidateAndCancel() }
        await withTaskExecutorPreference(session.taskExecutor) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { while !Task.isCancelled { await Task.yield() } }
                for _ in 0..<10 {
                    await withTaskGroup(of: Bool.self) { requests in
                        for _ in 0..<30 {
                            requests.addTask {
                                let url = nginx.url(.plain, NginxSite.mebibytePath)
                                return await session.load(url).data == NginxSite.mebibyte
                            }
                        }
                        for await isComplete in requests { #expect(isComplete) }
                    }
                }
                group.cancelAll()
            }
        }
    }

    @Test("A task that takes longer than a time-out fails no transfer whose bytes are there")
    func longStep() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session { $0.timeoutIntervalForRequest = 1 }
        defer { session.invalidateAndCancel() }
        let data = try await withTaskExecutorPreference(session.taskExecutor) {
            async let loaded = session.data(from: server.url("/")).0
            // The loop has sent the request, and the answer comes while it is busy.
            while server.requestCount == 0 { await Task.yield() }
            let end = Date() + 1.5
            while Date() < end || server.bytesSent == 0 {}
            return try await loaded
        }
        #expect(data == Data("hello".utf8))
    }

    @Test("A task that blocks its loop delays no session without the option", arguments: [1, 4])
    func blocking(loops: Int) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session()
        let others = (0..<4).map { _ in URLSession.forTest { $0.curl.eventLoops = loops } }
        defer { for session in others + [session] { session.invalidateAndCancel() } }
        let blocks = Gate()
        let semaphore = DispatchSemaphore(value: 0)
        async let blocked: Data = withTaskExecutorPreference(session.taskExecutor) {
            blocks.open()
            Self.block(semaphore)
            return try await session.data(from: server.url("/")).0
        }
        try await blocks.wait()
        for other in others { #expect(await other.load(server.url("/")).text == "hello") }
        semaphore.signal()
        #expect(try await blocked == Data("hello".utf8))
    }

    private static func block(_ semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    @Test("Requests that are cancelled from the loop end, and the others go on")
    func cancellation() async throws {
        let never = Gate()
        let server = try LoopbackServer { request in
            request.path == "/never" ? .text("").after([.waitFor(never)]) : .text("hello")
        }
        defer { server.stop() }
        let session = Self.session { $0.httpMaximumConnectionsPerHost = 100 }
        defer { session.invalidateAndCancel() }
        await withTaskExecutorPreference(session.taskExecutor) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        let error = await #expect(throws: URLError.self) {
                            try await session.data(from: server.url("/never"))
                        }
                        #expect(error?.code == .cancelled)
                    }
                }
                for _ in 0..<30 { #expect(await session.load(server.url("/")).text == "hello") }
                group.cancelAll()
            }
        }
    }

    @Test("A Swift task goes on on the loop when its session is invalidated, and when it is gone")
    func endOfSession() async throws {
        let never = Gate()
        let server = try LoopbackServer { _ in .text("").after([.waitFor(never)]) }
        defer { server.stop() }
        var session: URLSession? = Self.session()
        let executor = session?.taskExecutor
        let isOnLoop = Watched<[Bool]>([])
        func start(_ session: URLSession) -> Task<Data, any Error> {
            Task(executorPreference: executor) {
                defer { isOnLoop.update { $0.append(Self.isOnLoop) } }
                return try await session.data(from: server.url("/")).0
            }
        }
        let task = try start(#require(session))
        try await server.waitForRequests(1)
        session?.invalidateAndCancel()
        session = nil
        let error = await #expect(throws: URLError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        for _ in 0..<3 {
            let place = await withTaskExecutorPreference(executor) {
                await Task.yield()
                return Self.isOnLoop
            }
            isOnLoop.update { $0.append(place) }
        }
        #expect(isOnLoop.value == [true, true, true, true])
    }

    @Test("Completion handlers of tasks that were made on the loop aren't called there")
    func callbacks() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let isOnLoop = await withTaskExecutorPreference(session.taskExecutor) {
            await withCheckedContinuation { continuation in
                session.dataTask(with: server.url("/")) { _, _, _ in continuation.resume(returning: Self.isOnLoop) }
                    .resume()
            }
        }
        #expect(!isOnLoop)
    }
}
