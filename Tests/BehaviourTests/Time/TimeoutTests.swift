import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Time-outs", .timeLimit(.minutes(1)))
struct TimeoutTests {
    private static func elapsed(_ body: () async throws -> Void) async rethrows -> Duration {
        let start = ContinuousClock.now
        try await body()
        return start.duration(to: .now)
    }

    @Test("A server that never answers is given up after the idle time-out, fractions counting", arguments: [0.3, 1.2])
    func neverAnswering(timeout: TimeInterval) async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = timeout }
        defer { session.invalidateAndCancel() }
        let elapsed = await Self.elapsed {
            let result = await session.load(server.url("/"))
            #expect(result.error?.code == .timedOut)
            #expect(result.error?.failingURL == server.url("/"))
            #expect(result.error?.phase != nil)
        }
        #expect(elapsed >= .seconds(timeout))
        try await server.waitUntilNoConnections()
    }

    @Test("Half a head, and half a body, are timed out as well", arguments: [true, false])
    func halfAnswers(isHead: Bool) async throws {
        let server = try LoopbackServer { _ in
            isHead ? .fault(.insideHead, then: .hang) : .fault(.insideBody(after: 10, of: 20), then: .hang)
        }
        defer { server.stop() }
        // Long enough for the head to arrive, whatever else the machine does.
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.error?.code == .timedOut)
        #expect((result.response == nil) == isHead)
    }

    @Test("A server that doesn't read an upload is timed out")
    func stalledUpload() async throws {
        let server = try LoopbackServer(answering: .atHead) { _ in .raw([.stopReading, .never]) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 0.5 }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            _ = try await session.upload(for: URLRequest(server.url("/"), method: "PUT"), from: Data(count: 64 << 20))
        }
        #expect(error?.code == .timedOut)
    }

    @Test("A connection that isn't accepted is timed out")
    func connecting() async throws {
        var options = LoopbackServer.Options()
        options.accepts = false
        options.backlog = 0
        let server = try LoopbackServer(options: options) { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 0.3 }
        defer { session.invalidateAndCancel() }
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<3 { group.addTask { await session.load(server.url("/")) } }
            for await result in group { #expect(result.error?.code == .timedOut) }
        }
    }

    @Test("Every byte sent starts the idle time-out anew")
    func resetBySending() async throws {
        let trickle = (0..<6).flatMap { _ in
            [LoopbackServer.Step.stopReading, .pause(.milliseconds(500)), .resumeReading, .pause(.milliseconds(5))]
        }
        var options = LoopbackServer.Options()
        options.bodyLimit = 0
        let server = try LoopbackServer(answering: .atHead, options: options) { _ in
            .text("done").after(trickle + [.waitForBody])
        }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        let elapsed = try await Self.elapsed {
            let request = URLRequest(server.url("/"), method: "PUT")
            let (data, _) = try await session.upload(for: request, from: Data(count: 64 << 20))
            #expect(data == Data("done".utf8))
        }
        #expect(elapsed > .seconds(2))
    }

    @Test("Every byte received starts the idle time-out anew")
    func resetByBytes() async throws {
        let trickle = (0..<6).flatMap { [LoopbackServer.Step.bytes("\($0)"), .pause(.milliseconds(500))] }
        let server = try LoopbackServer { _ in .pieces(trickle) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        let elapsed = try await Self.elapsed {
            let (data, _) = try await session.data(from: server.url("/"))
            #expect(data == Data("012345".utf8))
        }
        #expect(elapsed > .seconds(2))
    }

    @Test("A request's own time-out goes before the configuration's")
    func ofRequest() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(server.url("/"), timeout: 0.3))
        #expect(result.error?.code == .timedOut)
    }

    @Test("The resource time-out ends a task that keeps receiving")
    func resource() async throws {
        let server = try LoopbackServer { _ in .generated(length: 1 << 40).throttled(bytesPerSecond: 100_000) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForResource = 2 }
        defer { session.invalidateAndCancel() }
        let elapsed = await Self.elapsed {
            let result = await session.load(server.url("/"))
            #expect(result.error?.code == .timedOut)
            #expect(result.response?.statusCode == 200)
        }
        #expect(elapsed >= .seconds(2))
        try await server.waitUntilNoConnections()
    }

    @Test("The resource time-out counts the waiting for a connection; the idle one doesn't")
    func whileQueued() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.useOneConnection()
            $0.timeoutIntervalForRequest = 0.2
            $0.timeoutIntervalForResource = 1.5
        }
        defer { session.invalidateAndCancel() }
        let first = session.dataTask(with: URLRequest(server.url("/first"), timeout: 30))
        let second = session.dataTask(with: server.url("/second"))
        let elapsed = try await Self.elapsed {
            first.resume()
            second.resume()
            let error = try await delegate.completion(of: second)
            #expect(error?.code == .timedOut)
        }
        #expect(elapsed >= .seconds(1.4))
    }

    /// Where a task stands when it is suspended.
    enum Place: Sendable, CaseIterable {
        case parked, queued, connected, receiving
    }

    @Test("A suspended task isn't subject to the resource time-out, wherever it stands", arguments: Place.allCases)
    func resourceWhileSuspended(place: Place) async throws {
        let (suspended, answers) = (Gate(), Gate())
        let server = try LoopbackServer { request in
            switch request.path {
            case "/first": .text("first").after([.waitFor(suspended)])
            case "/clock": .never
            default: .pieces([.bytes("hel"), .waitFor(answers), .bytes("lo")])
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.timeoutIntervalForResource = 2
            $0.useOneConnection()
        }
        defer { session.invalidateAndCancel() }
        let first = session.dataTask(with: server.url("/first"))
        if place == .queued {
            first.resume()
            try await server.waitForRequests(1)
        }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        switch place {
        case .parked: break
        case .queued: await session.flush()
        case .connected: try await server.waitForRequests(1)
        case .receiving: try await delegate.wait(for: task, bytes: 3)
        }
        task.suspend()
        suspended.open()
        // Twice as long as the task may take.
        let other = URLSession.forTest()
        defer { other.invalidateAndCancel() }
        #expect(await other.load(URLRequest(server.url("/clock"), timeout: 4)).error?.code == .timedOut)
        #expect(delegate.completionCount(of: task) == 0)
        #expect(task.state == .suspended)
        answers.open()
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("Resumed, it has the rest of its time and no more")
    func resourceAfterResuming() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForResource = 2 }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        for _ in 0..<3 {
            task.suspend()
            await session.flush()
            task.resume()
            await session.flush()
        }
        #expect(try await delegate.completion(of: task)?.code == .timedOut)
    }

    @Test("Zero and infinity mean no time-out", arguments: [0, .infinity, -1])
    func none(timeout: TimeInterval) async throws {
        let server = try LoopbackServer { request in
            request.path == "/clock" ? .never : .text("hello").after([.pause(.milliseconds(700))])
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.timeoutIntervalForRequest = timeout
            $0.timeoutIntervalForResource = timeout
        }
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(data == Data("hello".utf8))
    }
}
