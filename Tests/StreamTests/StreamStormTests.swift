import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Storms of stream tasks, and their ends", .timeLimit(.minutes(10)))
struct StreamStormTests {
    /// `STREAM_STORM=10000` for a long one.
    private static let count = ProcessInfo.processInfo.environment["STREAM_STORM"].flatMap { Int($0) } ?? 300

    private static let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n"

    @Test("Stream tasks ended at random moments neither leak nor hang, and every handler is called once")
    func storm() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.echo()
            // What is made once and kept.
            try await Self.storm(of: Self.count / 5, to: server, seed: 41)
            let added = try await ProcessUsage.added { try await Self.storm(of: Self.count, to: server, seed: 42) }
            #expect(added.descriptors <= 0)
            #expect(added.threads <= 4)
            #expect(added.resident < ProcessUsage.growth(of: 12 << 20))
            server.stop()
        }
    }

    private static func storm(of count: Int, to server: LoopbackServer, seed: UInt64) async throws {
        let calls = Watched<[Int: Int]>([:])
        let delegate = CountingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.httpMaximumConnectionsPerHost = 50 }
        var random = SeededGenerator(seed: seed)
        // Those that are open, or may be.
        var tasks: [URLSessionStreamTask] = []
        for number in 0..<count {
            let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            @Sendable func note(_ index: Int) { calls.update { $0[10 * number + index, default: 0] += 1 } }
            for index in 0..<3 {
                task.write(Data("bytes \(index)".utf8), timeout: index == 1 ? 5 : 0) { _ in note(index) }
                task.readData(ofMinLength: 1, maxLength: 7, timeout: index == 1 ? 5 : 0) { _, _, _ in note(3 + index) }
            }
            task.resume()
            switch Int.random(in: 0..<8, using: &random) {
            case 0: task.cancel()
            case 1: task.closeWrite()
            case 2: task.closeRead()
            case 3: task.startSecureConnection()
            case 4: task.captureStreams()
            case 5:
                task.suspend()
                task.resume()
            default: break
            }
            // Some have time to talk.
            if number % 5 == 0 {
                task.write(Data("more".utf8), timeout: 0) { _ in }
                _ = try? await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0)
            }
            tasks.append(task)
            if tasks.count == 40 { tasks.remove(at: Int.random(in: 0..<40, using: &random)).cancel() }
        }
        for task in tasks { task.cancel() }
        session.finishTasksAndInvalidate()
        try await delegate.invalidated.wait()
        let total = 6 * count
        try await calls.wait { $0.count == total }
        #expect(calls.value.values.allSatisfy { $0 == 1 })
        #expect(delegate.completions.value.values.allSatisfy { $0 == 1 })
        // A task whose streams were captured hears nothing more.
        #expect(delegate.completions.value.count + delegate.captures.value == count)
        delegate.forgetStreams()
        try await server.waitUntilNoConnections()
    }

    @Test("Requests with Upgrade that are cancelled at random moments complete once, and leave no connection")
    func upgrades() async throws {
        let server = try LoopbackServer { request in
            switch request.ordinal % 3 {
            case 0: .text("hello")
            case 1: .chunked(["a", "b"])
            default:
                .raw([
                    .bytes(Self.head), .converse { if case .received(let data) = $0 { [.bytes(data)] } else { [] } },
                ])
            }
        }
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.httpMaximumConnectionsPerHost = 50 }
        var random = SeededGenerator(seed: 43)
        for number in 0..<Self.count {
            var request = URLRequest(url: server.url("/\(number)"))
            request.setValue("echo", forHTTPHeaderField: "Upgrade")
            let task = session.dataTask(with: request)
            task.resume()
            if number % 4 == 0 { try await delegate.responses.wait { $0 > number / 8 } }
            if Bool.random(using: &random) { task.cancel() }
        }
        try await delegate.endStreams(Self.count)
        session.finishTasksAndInvalidate()
        try await delegate.invalidated.wait()
        #expect(delegate.completions.value.count == Self.count)
        #expect(delegate.completions.value.values.allSatisfy { $0 == 1 })
        try await server.waitUntilNoConnections()
    }

    @Test("Invalidating a session amid everything ends everything")
    func invalidation() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let ended = Watched(0)
        let echoes = Watched(0)
        for _ in 0..<30 {
            let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            task.resume()
            Task {
                do {
                    while true {
                        try await task.write("a")
                        _ = try await task.text(1)
                        echoes.update { $0 += 1 }
                    }
                } catch {
                    ended.update { $0 += 1 }
                }
            }
        }
        try await echoes.wait { $0 >= 100 }
        session.invalidateAndCancel()
        try await delegate.invalidated.wait()
        try await ended.wait { $0 == 30 }
        #expect(delegate.completions.value.count == 30)
        try await server.waitUntilNoConnections()
    }

    @Test("A session that is dropped, and its task, are gone once the stream has ended", arguments: [true, false])
    func dropped(_ isUpgrade: Bool) async throws {
        let server = try LoopbackServer { _ in
            .raw([.bytes(Self.head), .converse { if case .received(let data) = $0 { [.bytes(data)] } else { [] } }])
        }
        defer { server.stop() }
        let released = Gate()
        try await use(server, isUpgrade) { released.open() }
        try await released.wait()
        try await server.waitUntilNoConnections()
    }

    /// `released` is called when the session has let go of its delegate, and nothing else holds it.
    private func use(_ server: LoopbackServer, _ isUpgrade: Bool, released: @escaping @Sendable () -> Void) async throws
    {
        let delegate = CountingDelegate(released: released)
        let session = URLSession.forTest(delegate: delegate)
        var request = URLRequest(url: server.url("/"))
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        let task: URLSessionStreamTask
        if isUpgrade {
            session.dataTask(with: request).resume()
            try await delegate.streams.wait { !$0.isEmpty }
            task = try #require(delegate.streams.value.first)
        } else {
            task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            task.resume()
            try await task.write("GET / HTTP/1.1\r\n\r\n")
            #expect(try await task.text(Self.head.utf8.count) == Self.head)
        }
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        delegate.forgetStreams()
        session.finishTasksAndInvalidate()
        task.cancel()
    }

    @Test("A task that is to begin later makes no connection before")
    func beginDate() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let later = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        later.earliestBeginDate = .distantFuture
        later.write(Data("later".utf8), timeout: 0.001) { _ in }
        later.resume()
        for date in [Date.distantPast, Date(timeIntervalSinceNow: 0.05)] {
            let now = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            now.earliestBeginDate = date
            now.resume()
            try await now.write("now")
            #expect(try await now.text(3) == "now")
            #expect(Date() >= date)
        }
        #expect(server.connectionCount == 2)
        #expect(recorder.events == [])
        later.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
        #expect(server.connectionCount == 2)
    }

    @Test("All bytes come in order, however much they are", arguments: [true, false])
    func large(_ isUpgrade: Bool) async throws {
        // `STREAM_BYTES=1073741824` for a large one.
        let length = ProcessInfo.processInfo.environment["STREAM_BYTES"].flatMap { Int64($0) } ?? 16 << 20
        let head = isUpgrade ? Self.head : ""
        let server = try LoopbackServer { _ in
            { event in
                if case .received = event {
                    [.bytes(head), .body(.generated(length: length, seed: 7)), .close]
                } else {
                    []
                }
            }
        }
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task: URLSessionStreamTask
        if isUpgrade {
            var request = URLRequest(url: server.url("/"))
            request.setValue("bytes", forHTTPHeaderField: "Upgrade")
            session.dataTask(with: request).resume()
            try await delegate.streams.wait { !$0.isEmpty }
            task = try #require(delegate.streams.value.first)
        } else {
            task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            task.resume()
            try await task.write("go")
        }
        let before = ProcessUsage().resident
        var offset: Int64 = 0
        while true {
            let (bytes, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 1 << 20, timeout: 0)
            let data = try #require(bytes)
            try #require(data == GeneratedBody.bytes(seed: 7, range: offset..<(offset + Int64(data.count))))
            offset += Int64(data.count)
            if isAtEnd { break }
        }
        #expect(offset == length)
        #expect(ProcessUsage().resident < before + 64 << 20)
    }
}

/// Counts what tasks come to, and turns responses with 101 into streams.
private final class CountingDelegate: NSObject, URLSessionDataDelegate, URLSessionStreamDelegate {
    let completions = Watched<[Int: Int]>([:])
    let responses = Watched(0)
    let captures = Watched(0)
    let streams = Watched<[URLSessionStreamTask]>([])
    let invalidated = Gate()
    private let isEnding = Watched(false)
    private let released: @Sendable () -> Void

    init(released: @escaping @Sendable () -> Void = {}) {
        self.released = released
    }

    deinit {
        released()
    }

    func forgetStreams() {
        streams.update { $0 = [] }
    }

    /// Cancels what has become a stream, and what will. Returns when so many tasks have completed.
    func endStreams(_ count: Int) async throws {
        isEnding.update { $0 = true }
        for task in streams.value { task.cancel() }
        try await completions.wait { $0.count == count }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        responses.update { $0 += 1 }
        completionHandler((response as? HTTPURLResponse)?.statusCode == 101 ? .becomeStream : .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        streams.update { $0.append(streamTask) }
        if isEnding.value { streamTask.cancel() }
    }

    func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        captures.update { $0 += 1 }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        completions.update { $0[task.taskIdentifier, default: 0] += 1 }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        invalidated.open()
    }
}
