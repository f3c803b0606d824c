import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Stream tasks", .timeLimit(.minutes(1)))
struct StreamTaskTests {
    @Test("Bytes that are written come back one for one, and both directions end in due form")
    func echo() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        try await rig.task.write("hello")
        #expect(try await rig.task.text(5) == "hello")
        try await rig.task.write("goodbye")
        rig.task.closeWrite()
        #expect(try await rig.task.rest() == "goodbye")
        #expect(try await rig.recorder.completion() == nil)
        #expect(rig.recorder.events == [.writeClosed, .readClosed, .completed(nil)])
        #expect(rig.task.state == .completed && rig.task.error == nil)
    }

    @Test("Reads and writes are answered also where the task is suspended when both directions have been closed")
    func suspendedAfterClosing() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        try await rig.task.write("hello")
        #expect(try await rig.task.text(5) == "hello")
        rig.task.closeRead()
        rig.task.closeWrite()
        rig.task.suspend()
        for _ in 0..<2 {
            await #expect(throws: URLError.self) { try await rig.task.text(1) }
            await #expect(throws: URLError.self) { try await rig.task.write("more") }
        }
    }

    @Test("A read of at most nothing, or less than its least, fails alone; calls on a closed side fail as lost")
    func refusedCalls() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        for (least, most) in [(1, 0), (0, 0), (10, 5)] {
            let error = await #expect(throws: URLError.self) {
                try await rig.task.readData(ofMinLength: least, maxLength: most, timeout: 10)
            }
            #expect(error?.code == .dataLengthExceedsMaximum)
        }
        try await rig.task.write("hello")
        #expect(try await rig.task.text(5) == "hello")
        rig.task.closeRead()
        let read = await #expect(throws: URLError.self) { try await rig.task.text(1) }
        rig.task.closeWrite()
        let write = await #expect(throws: URLError.self) { try await rig.task.write("more") }
        #expect([read?.code, write?.code] == [.networkConnectionLost, .networkConnectionLost])
    }

    @Test("Calls that were queued before the task is resumed are carried out then, in their order")
    func queuedBefore() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "localhost", port: server.port)
        let calls = Watched<[String]>([])
        task.readData(ofMinLength: 3, maxLength: 3, timeout: 0) { data, isAtEnd, error in
            calls.update { $0.append("read \(data?.count ?? -1) \(isAtEnd) \(error == nil)") }
        }
        for text in ["a", "bc"] {
            task.write(Data(text.utf8), timeout: 0) { error in
                calls.update { $0.append("wrote \(text) \(error == nil)") }
            }
        }
        task.closeWrite()
        #expect(server.connectionCount == 0)
        task.resume()
        #expect(try await task.rest() == "")
        #expect(try await recorder.completion() == nil)
        #expect(calls.value.filter { $0.hasPrefix("wrote") } == ["wrote a true", "wrote bc true"])
        #expect(calls.value.contains("read 3 false true"))
    }

    @Test("Handlers are called on the delegate queue")
    func handlerQueue() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession.forTest(delegateQueue: queue)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        let isOnQueue = await withCheckedContinuation { continuation in
            task.write(Data("a".utf8), timeout: 0) { _ in
                continuation.resume(returning: OperationQueue.current === queue)
            }
        }
        #expect(isOnQueue)
    }

    @Test("There is no request, and the task is listed with the others")
    func noRequest() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        #expect(task.originalRequest == nil && task.currentRequest == nil && task.response == nil)
        #expect(await session.allTasks == [task])
        let (data, uploads, downloads) = await session.tasks
        #expect(data.isEmpty && uploads.isEmpty && downloads.isEmpty)
    }

    @Test("Suspended and resumed while it connects, it has all of its time for another attempt")
    func connectsAgain() async throws {
        let deaf = try LoopbackServer.deaf()
        defer { deaf.stop() }
        let silent = try LoopbackServer { _ in .never }
        defer { silent.stop() }
        let start = ContinuousClock.now
        let ends = Watched<[Duration]>([])
        let delegate = RecordingDelegate(onEvent: { _, event in
            if case .completed = event { ends.update { $0.append(start.duration(to: .now)) } }
        })
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        // The kernel connects the first one or two; the others' attempts are not even acknowledged.
        let tasks = (0..<4).map { _ in session.streamTask(withHostName: "127.0.0.1", port: deaf.port) }
        for task in tasks { task.resume() }
        await session.flush()
        for task in tasks { task.suspend() }
        let clock = await session.load(URLRequest(silent.url("/"), timeout: 2.5))
        #expect(clock.error?.code == .timedOut)
        for task in tasks { task.resume() }
        try await ends.wait { $0.count >= 2 }
        // Half a second was left of the first attempts.
        #expect(ends.value.allSatisfy { $0 >= .seconds(5.4) }, "\(ends.value)")
    }

    @Test("The other side's end leaves the task open for writing")
    func halfClosedByServer() async throws {
        let received = Watched(Data())
        let server = try HalfClosingServer(greeting: "bye") { data in received.update { $0.append(data) } }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        #expect(try await task.rest() == "bye")
        try await task.write("still here")
        task.closeWrite()
        #expect(try await recorder.completion() == nil)
        try await received.wait { $0 == Data("still here".utf8) }
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(nil)])
    }

    @Test("closeRead reads nothing more, and leaves the task open for writing")
    func closeRead() async throws {
        let received = Watched(Data())
        let server = try HalfClosingServer(greeting: "ignored") { data in received.update { $0.append(data) } }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        task.closeRead()
        await #expect(throws: URLError.self) { try await task.text(1) }
        try await task.write("hello")
        task.closeWrite()
        #expect(try await recorder.completion() == nil)
        try await received.wait { $0 == Data("hello".utf8) }
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(nil)])
    }

    @Test(
        "A server that reads late gets all that was written, though both directions are closed and its own bytes unread",
        arguments: [true, false]
    )
    func lateReader(ends: Bool) async throws {
        let reads = Gate()
        let received = Watched(Data())
        let server = try HalfClosingServer(greeting: "unread", ends: ends, reads: reads) { data in
            received.update { $0.append(data) }
        }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        task.closeRead()
        // More than the server's side of the connection holds, and less than both do.
        let data = GeneratedBody.bytes(seed: 8, range: 0..<200_000)
        try await task.write(data, timeout: 0)
        task.closeWrite()
        try await recorder.wait(for: .writeClosed)
        // The loop has done what follows from that when it does something else.
        for _ in 0..<2 { _ = await session.connections }
        reads.open()
        try await server.isOver.wait()
        #expect(received.value == data)
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(nil)])
    }

    @Test("A server that has everything and doesn't end is not waited for any longer")
    func endlessServer() async throws {
        let server = try SilentServer()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        task.closeRead()
        try await task.write("hello")
        task.closeWrite()
        session.finishTasksAndInvalidate()
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(nil)])
    }

    @Test("A connection that is lost before the server has everything fails the task")
    func lostAtEnd() async throws {
        let server = try LoopbackServer { _ in { event in if case .opened = event { [.stopReading] } else { [] } } }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        task.closeRead()
        try await task.write(Data(count: 200_000), timeout: 0)
        task.closeWrite()
        try await recorder.wait(for: .writeClosed)
        server.resetConnections()
        #expect(try await recorder.completion()?.code == .networkConnectionLost)
    }

    @Test("cancel ends whatever waits, each with the same error, before the task completes", arguments: [true, false])
    func cancel(_ isResumed: Bool) async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        if isResumed {
            task.resume()
            try await task.write("a")
            #expect(try await task.text(1) == "a")
        }
        let codes = Watched<[URLError.Code?]>([])
        for _ in 0..<3 {
            task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { _, _, error in
                codes.update { $0.append((error as? URLError)?.code) }
                recorder.note(.created)
            }
        }
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
        #expect(codes.value == [.cancelled, .cancelled, .cancelled])
        #expect(recorder.events == [.created, .created, .created, .completed(.cancelled)])
        // And whatever comes later.
        await #expect(throws: URLError.self) { try await task.text(1) }
        await #expect(throws: URLError.self) { try await task.write("b") }
    }

    @Test("A call between cancel and the task's completion is answered before the task completes")
    func operationsAfterCancel() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        try await task.write("a")
        #expect(try await task.text(1) == "a")
        rig.session.delegateQueue.isSuspended = true
        task.cancel()
        // By then the completion waits for the queue.
        await #expect(throws: URLError.self) { try await task.text(1) }
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { _, _, _ in recorder.note(.readClosed) }
        task.write(Data("b".utf8), timeout: 0) { _ in recorder.note(.writeClosed) }
        rig.session.delegateQueue.isSuspended = false
        #expect(try await recorder.completion()?.code == .cancelled)
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(.cancelled)])
    }

    @Test("A write after cancel isn't carried out, although the loop hasn't cancelled the task yet")
    func writeAfterCancel() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) { $0.curl.runsTasksOnEventLoop = true }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("a")
        #expect(try await task.text(1) == "a")
        let codes = Watched<[URLError.Code?]>([])
        // On the loop, which has to wait for the end of this.
        await withTaskExecutorPreference(session.taskExecutor) {
            task.cancel()
            task.write(Data("b".utf8), timeout: 0) { error in
                codes.update { $0.append((error as? URLError)?.code) }
            }
        }
        #expect(try await recorder.completion()?.code == .cancelled)
        #expect(codes.value == [.cancelled])
    }

    @Test("A write from the handler of a read that cancel failed is answered before the task completes")
    func operationsOfHandlers() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        try await task.write("a")
        #expect(try await task.text(1) == "a")
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { _, _, _ in
            recorder.note(.readClosed)
            task.write(Data("b".utf8), timeout: 0) { _ in recorder.note(.writeClosed) }
        }
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(.cancelled)])
    }

    @Test("A connection that is refused fails the task and all that waits")
    func refused() async throws {
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: try LoopbackServer.refusingPort())
        task.resume()
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .cannotConnectToHost }
        #expect(try await recorder.completion()?.code == .cannotConnectToHost)
    }

    @Test(
        "A host or a port that is none fails the task",
        arguments: [
            ("", 80), ("a b", 80), ("host/path", 80), ("user@host", 80), ("127.0.0.1", 0), ("127.0.0.1", 65_536),
            ("a", -1), ("[localhost]", 80),
        ]
    )
    func impossible(_ host: String, _ port: Int) async throws {
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: host, port: port)
        task.resume()
        #expect(try await recorder.completion()?.code == .badURL)
    }

    @Test("No request may use the scheme that stands for stream tasks")
    func scheme() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(try #require(URL(string: "tcp://127.0.0.1:9")))
        #expect(result.error?.code == .unsupportedURL)
    }

    @Test("A reset by the other side fails what waits, and the task")
    func reset() async throws {
        let server = try LoopbackServer { _ in { event in if case .received = event { [.reset] } else { [] } } }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("a")
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
        #expect(try await recorder.completion()?.code == .networkConnectionLost)
    }

    /// Talks before it has everything, and resets the connection.
    private static func refusing(_ words: String) throws -> LoopbackServer {
        try LoopbackServer { _ in
            { event in if case .received = event { [.stopReading, .bytes(words), .reset] } else { [] } }
        }
    }

    @Test("Bytes that a server sent before a write failed can still be read after the task has completed")
    func lastWords() async throws {
        let rig = try StreamTaskRig(to: Self.refusing("413 too large"))
        defer { rig.stop() }
        let task = rig.task
        await #expect { try await task.write(Data(count: 64 << 20), timeout: 0) } throws: {
            ($0 as? URLError)?.code == .networkConnectionLost
        }
        #expect(try await rig.recorder.completion()?.code == .networkConnectionLost)
        #expect(try await task.text(4) == "413 ")
        await #expect(throws: URLError.self) { try await task.text(10) }
        let rest = await withCheckedContinuation { continuation in
            task.readData(ofMinLength: 10, maxLength: 20, timeout: 0) { data, isAtEnd, error in
                let text = data.map { String(decoding: $0, as: UTF8.self) } ?? ""
                continuation.resume(returning: "\(text) \(isAtEnd) \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }
        #expect(rest == "too large false -1005")
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
        #expect(rig.recorder.events == [.completed(.networkConnectionLost)])
    }

    @Test("A read that waits gets the last words of a server, which goes on to fail the write")
    func awaitedLastWords() async throws {
        let rig = try StreamTaskRig(to: Self.refusing("413 too large"))
        defer { rig.stop() }
        let task = rig.task
        async let words = task.text(13)
        await #expect(throws: URLError.self) { try await task.write(Data(count: 64 << 20), timeout: 0) }
        #expect(try await words == "413 too large")
    }

    @Test("The bytes of a read that has timed out go to the next, though a write fails in between")
    func timedOutBeforeFailure() async throws {
        let server = try LoopbackServer { _ in
            { event in
                switch event {
                case .opened: [.bytes("12345")]
                case .received: [.stopReading, .reset]
                case .finished: []
                }
            }
        }
        let rig = try StreamTaskRig(to: server)
        defer { rig.stop() }
        let task = rig.task
        await #expect { _ = try await task.readData(ofMinLength: 10, maxLength: 10, timeout: 0.05) } throws: {
            ($0 as? URLError)?.code == .timedOut
        }
        await #expect(throws: URLError.self) { try await task.write(Data(count: 64 << 20), timeout: 0) }
        #expect(try await task.text(5) == "12345")
    }

    @Test("A Swift task that is cancelled goes on with its read or write, unless it cancels the stream task")
    func cancelledSwiftTask() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let task = rig.task
        let reading = Task { try await task.text(5) }
        reading.cancel()
        let writing = Task { try await task.write("hello") }
        writing.cancel()
        try await writing.value
        #expect(try await reading.value == "hello")
        let ended = Task {
            try await withTaskCancellationHandler {
                try await task.text(1)
            } onCancel: {
                task.cancel()
            }
        }
        ended.cancel()
        await #expect { try await ended.value } throws: { ($0 as? URLError)?.code == .cancelled }
    }

    @Test("Bytes that have arrived are dropped when the task is cancelled")
    func cancelledUnread() async throws {
        let server = try LoopbackServer { _ in { event in if case .opened = event { [.bytes("12345")] } else { [] } } }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        let read = Watched("")
        // The loop carries it out, which reads all five.
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { data, _, _ in
            read.update { $0 = String(decoding: data ?? Data(), as: UTF8.self) }
        }
        task.resume()
        try await read.wait { $0 == "1" }
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .cancelled }
    }

    @Test("A read that times out leaves its bytes to the next, and the stream goes on")
    func readTimeout() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let task = rig.task
        try await task.write("ab")
        #expect(try await task.text(1) == "a")
        await #expect { _ = try await task.readData(ofMinLength: 5, maxLength: 9, timeout: 0.05) } throws: {
            ($0 as? URLError)?.code == .timedOut
        }
        try await task.write("cdef")
        #expect(try await task.text(5) == "bcdef")
    }

    /// One whose server sends "x", and reads nothing: a write has timed out.
    private static func rigAfterWriteTimeout() async throws -> StreamTaskRig {
        let server = try LoopbackServer { _ in
            { event in if case .opened = event { [.stopReading, .bytes("x")] } else { [] } }
        }
        let rig = try StreamTaskRig(to: server)
        let large = Data(count: 64 << 20)
        await #expect { try await rig.task.write(large, timeout: 0.05) } throws: {
            ($0 as? URLError)?.code == .timedOut
        }
        return rig
    }

    @Test("A write that times out closes the write side")
    func writeTimeout() async throws {
        let rig = try await Self.rigAfterWriteTimeout()
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        try await recorder.wait(for: .writeClosed)
        await #expect(throws: URLError.self) { try await task.write("b") }
        #expect(try await task.text(1) == "x")
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
    }

    @Test("After a write that timed out, the connection can neither be captured nor secured", arguments: [true, false])
    func writeTimeoutBeforeTransition(captures: Bool) async throws {
        let rig = try await Self.rigAfterWriteTimeout()
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        if captures { task.captureStreams() } else { task.startSecureConnection() }
        #expect(try await recorder.completion()?.code == .timedOut)
        #expect(recorder.events == [.writeClosed, .completed(.timedOut)])
    }

    @Test("A suspended task reads nothing until it goes on")
    func suspend() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let task = rig.task
        try await task.write("a")
        #expect(try await task.text(1) == "a")
        task.suspend()
        let result = Watched<String?>(nil)
        Task {
            let text = try? await task.text(1)
            result.update { $0 = text ?? "failed" }
        }
        // The loop has seen the read when it has seen what came after it.
        task.write(Data("b".utf8), timeout: 0) { _ in }
        _ = await rig.session.connections
        #expect(result.value == nil)
        task.resume()
        try await result.wait { $0 == "b" }
    }

    @Test("An invalidated session lets its stream tasks finish")
    func invalidation() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        session.finishTasksAndInvalidate()
        try await task.write("a")
        task.closeWrite()
        #expect(try await task.rest() == "a")
        #expect(try await recorder.completion() == nil)
    }

    @Test("A task that waits for connectivity is connected when the server can be reached")
    func connectivity() async throws {
        let port = try LoopbackServer.unusedPort()
        let server = Watched<LoopbackServer?>(nil)
        defer { server.value?.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) { $0.waitsForConnectivity = true }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: port)
        task.resume()
        try await recorder.wait(for: .waiting)
        let echo = try LoopbackServer(port: port) { _ in
            { event in if case .received(let data) = event { [.bytes(data)] } else { [] } }
        }
        server.update { $0 = echo }
        session.retryUnreachableHosts()
        try await task.write("a")
        #expect(try await task.text(1) == "a")
    }

    @Test("The time for a request limits connecting, and nothing that comes after it")
    func connectTimeout() async throws {
        let deaf = try LoopbackServer.deaf()
        defer { deaf.stop() }
        let echo = try LoopbackServer.echo()
        defer { echo.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        let connected = session.streamTask(withHostName: "127.0.0.1", port: echo.port)
        connected.resume()
        try await connected.write("a")
        // The system itself connects the first ones.
        let errors = Watched<[URLError.Code?]>([])
        for _ in 0..<4 {
            let task = session.streamTask(withHostName: "127.0.0.1", port: deaf.port)
            task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { _, _, error in
                errors.update { $0.append((error as? URLError)?.code) }
            }
            task.resume()
        }
        try await errors.wait { $0.count >= 2 }
        #expect(errors.value.allSatisfy { $0 == .timedOut })
        #expect(try await connected.text(1) == "a")
    }

    @Test("The time for a resource limits the whole task")
    func resourceTimeout() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) { $0.timeoutIntervalForResource = 0.5 }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        #expect(try await recorder.completion()?.code == .timedOut)
        try await server.waitUntilNoConnections()
    }

    @Test("A task that is connected leaves its place to others of its host")
    func places() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let session = URLSession.forTest { $0.httpMaximumConnectionsPerHost = 1 }
        defer { session.invalidateAndCancel() }
        for text in ["a", "b", "c"] {
            let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            task.resume()
            try await task.write(text)
            #expect(try await task.text(1) == text)
        }
        #expect(server.connectionCount == 3)
    }

    @Test("A task waits for one of its host's places before it connects")
    func waitsForPlace() async throws {
        let gate = Gate()
        let proxy = try LoopbackServer { request in
            .raw((request.target == "a.test:1" ? [.waitFor(gate)] : []) + [.bytes("HTTP/1.1 200 Connected\r\n\r\n")])
        }
        defer { proxy.stop() }
        let session = URLSession.forTest {
            $0.httpMaximumConnectionsPerHost = 1
            $0.curl.proxy = .server(CurlOptions.ProxyServer(.http, host: "127.0.0.1", port: proxy.port))
        }
        defer { session.invalidateAndCancel() }
        let tasks = ["a.test", "a.test", "b.test"].map { session.streamTask(withHostName: $0, port: 1) }
        tasks[0].resume()
        try await proxy.waitForRequests(1)
        tasks[1].resume()
        tasks[2].resume()
        // Without having to wait, the second would have asked before the third, which can write now.
        try await tasks[2].write("hello")
        #expect(proxy.requests.map(\.target) == ["a.test:1", "b.test:1"])
        gate.open()
        try await tasks[1].write("hello")
        #expect(proxy.requestCount == 3)
    }

    @Test("An option of libcurl that works while connecting acts on a stream task, and one that couldn't fails it")
    func configuredConnection() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        for name in [nil, "REFERER", "MAX_SEND_SPEED_LARGE", "TIMEOUT_MS"] {
            let recorder = StreamRecorder()
            let session = URLSession.forTest(delegate: recorder) {
                $0.curl.configureTransfer = { transfer, _ in
                    try transfer.set("INTERFACE", "host!127.0.0.2")
                    try transfer.set("ACCEPT_ENCODING", nil)
                    if transfer.onlyConnects, let name { try transfer.set(CurlOption(name), 1) }
                }
            }
            defer { session.invalidateAndCancel() }
            let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
            task.resume()
            if let name {
                let error = try #require(try await recorder.completion())
                #expect((error.userInfo[NSUnderlyingErrorKey] as? CurlTransferError)?.option == CurlOption(name))
            } else {
                try await task.write("hello")
                task.closeWrite()
                #expect(try await task.rest() == "hello")
                #expect(try await recorder.completion() == nil)
                let connection = try #require(recorder.record.value.metrics?.transactionMetrics.first)
                #expect(connection.localAddress == "127.0.0.2")
            }
        }
        #expect(server.connectionCount == 1)
    }

    @Test("The rates of connections don't apply to a stream")
    func rates() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.connections.maximumReceiveRate = 100
            $0.curl.connections.maximumSendRate = 100
        }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        // At these rates this would take an hour in each direction.
        let text = String(repeating: "a", count: 400_000)
        async let echo = task.text(text.utf8.count)
        try await task.write(text)
        #expect(try await echo == text)
    }

    @Test("A stream may be silent for longer than the limit for slow connections allows")
    func lowSpeed() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.connections.lowSpeedLimit = .init(bytesPerSecond: 1_000_000, duration: .seconds(1))
        }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        let error = await #expect(throws: URLError.self) {
            try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 2.5)
        }
        #expect(error?.code == .timedOut)
        try await task.write("again")
        #expect(try await task.text(5) == "again")
    }

    @Test("Of the system's proxies, a stream task uses the one for https")
    func systemProxy() async throws {
        let proxy = try LoopbackServer { _ in
            { event in
                guard case .received = event else { return [] }
                return [.bytes("HTTP/1.1 200 Connected\r\n\r\n220 ready\n")]
            }
        }
        defer { proxy.stop() }
        let refusing = try LoopbackServer.refusingPort()
        let session = URLSession.forTest {
            $0.connectionProxyDictionary = [
                "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": refusing,
                "HTTPSEnable": 1, "HTTPSProxy": "127.0.0.1", "HTTPSPort": proxy.port,
            ]
        }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "mail.test", port: 25)
        task.resume()
        #expect(try await task.line() == "220 ready")
    }

    @Test("A trace shows how a stream task's connection is made, and nothing that is read or written")
    func trace() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let log = Watched("")
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) {
            var trace = CurlOptions.Trace { _, event in log.update { $0 += event.description + "\n" } }
            trace.includesBodies = true
            $0.curl.trace = trace
        }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("hello")
        task.closeWrite()
        #expect(try await task.rest() == "hello")
        #expect(try await recorder.completion() == nil)
        session.invalidateAndCancel()
        // The second is libcurl 8.21's text.
        try await log.wait { log in
            ["Connected to", "Established connection to"].contains { log.contains("\($0) 127.0.0.1") }
        }
        try await log.standsStill()
        #expect(!log.value.contains("hello"))
    }

    @Test("A server that sends without end is read at the reader's pace, in flat memory")
    func flatMemory() async throws {
        let server = try LoopbackServer { _ in
            { event in if case .opened = event { [.body(.generated(length: 1 << 40))] } else { [] } }
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        _ = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0)
        try await server.waitUntilBlocked()
        let before = ProcessUsage().resident
        var count = 0
        while count < 256 << 20 {
            let (data, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 1 << 20, timeout: 0)
            #expect(!isAtEnd)
            count += data?.count ?? 0
        }
        #expect(ProcessUsage().resident < before + 64 << 20)
    }
}
