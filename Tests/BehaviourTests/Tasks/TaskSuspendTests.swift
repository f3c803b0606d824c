import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Suspending a running task", .timeLimit(.minutes(1)))
struct TaskSuspendTests {
    static let length: Int64 = 32 << 20

    @Test("A task suspended in mid-body stops the server, and goes on with the same connection without losing a byte")
    func midBody() async throws {
        let suspended = Gate()
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard case .data = event, !suspended.isOpen else { return }
            task?.suspend()
            suspended.open()
        })
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/" ? .generated(length: Self.length, seed: 3) : .text("other")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await suspended.wait()
        #expect(task.state == .suspended)
        await rig.session.flush()
        try await rig.server.waitUntilBlocked()
        let received = task.countOfBytesReceived
        _ = try await URLSession.shared.data(from: rig.url("/other"))
        #expect(task.countOfBytesReceived == received)
        #expect(rig.server.bytesSent(inAnswerTo: 1) < Self.length)
        #expect(delegate.completionCount(of: task) == 0)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 3, length: Int(Self.length)))
        #expect(rig.server.requests.count { $0.path == "/" } == 1)
    }

    @Test("The delegate of a suspended task gets no more of its body, and not its end, until it is resumed")
    func holdsTheBody() async throws {
        let suspended = Gate()
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard case .data = event, !suspended.isOpen else { return }
            task?.suspend()
            suspended.open()
        })
        // Less than libcurl and the mailbox take before the transfer pauses.
        let length: Int64 = 1 << 20
        let rig = try Rig(delegate: delegate) { _ in .generated(length: length, seed: 4) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await suspended.wait()
        let delivered = delegate.body(of: task)?.count
        // Each message takes a turn of the queue.
        for _ in 1...50 {
            await withCheckedContinuation { turn in rig.session.delegateQueue.addOperation { turn.resume() } }
        }
        #expect(delegate.body(of: task)?.count == delivered)
        #expect(delegate.completionCount(of: task) == 0)
        #expect(task.state == .suspended)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: Int(length)))
    }

    @Test("A suspended task that has arrived whole still ends if it is cancelled")
    func cancelsAHeldBody() async throws {
        let suspended = Gate()
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard case .response = event else { return }
            task?.suspend()
            suspended.open()
        })
        let rig = try Rig(delegate: delegate) { _ in .text("whole") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await suspended.wait()
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(delegate.body(of: task) == nil)
    }

    @Test("A task that is suspended again and again loses no byte", arguments: ["plain", "chunked", "untilClose"])
    func repeatedly(framing: String) async throws {
        let length: Int64 = 4 << 20
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard case .data = event, let task else { return }
            task.suspend()
            onOtherThread { task.resume() }
        })
        let rig = try Rig(delegate: delegate) { _ in
            switch framing {
            case "chunked": .chunked(.generated(length: length, seed: 4), size: 10_000)
            case "untilClose": .generated(length: length, seed: 4).untilClose()
            default: .generated(length: length, seed: 4)
            }
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: Int(length)))
        #expect(rig.server.connectionCount == 1)
    }

    @Test("A task suspended while its body is being sent sends the rest when it is resumed")
    func midUpload() async throws {
        let stopped = Gate()
        let reads = Gate()
        var options = LoopbackServer.Options()
        options.bodyLimit = 64 << 20
        let body = GeneratedBody.bytes(seed: 5, length: 64 << 20)
        let delegate = RecordingDelegate()
        let rig = try Rig(answering: .atHead, options: options, delegate: delegate) { request in
            guard request.method == "PUT" else { return .text("other") }
            return .text("done").after([.stopReading, .open(stopped), .waitFor(reads), .resumeReading, .waitForBody])
        }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), from: body)
        task.resume()
        try await stopped.wait()
        task.suspend()
        await rig.session.flush()
        let sent = task.countOfBytesSent
        #expect(sent < Int64(body.count))
        reads.open()
        _ = try await rig.session.data(from: rig.url("/other"))
        #expect(task.countOfBytesSent == sent)
        task.resume()
        try await delegate.success(of: task)
        let request = try #require(rig.server.requests.first { $0.method == "PUT" })
        #expect(request.body == body)
        #expect(rig.server.requests.count { $0.method == "PUT" } == 1)
    }

    @Test("A task suspended before the head gets its response when it is resumed")
    func beforeHead() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/slow" ? .text("hello").after([.waitFor(gate)]) : .text("other")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/slow"))
        task.resume()
        try await rig.server.waitForRequests(1)
        task.suspend()
        await rig.session.flush()
        gate.open()
        try await rig.server.waitForBytesSent(1)
        _ = try await rig.session.data(from: rig.url("/other"))
        #expect(delegate.story(of: task) == ["created"])
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("A task suspended just when the head comes holds up no other, and gets its response when it is resumed")
    func withTheHead() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { .text($0.path) }
        defer { rig.stop() }
        for number in 1...300 {
            let task = rig.session.dataTask(with: rig.url("/first"))
            task.resume()
            try await rig.server.waitForRequests(2 * number - 1)
            task.suspend()
            #expect(try await rig.session.data(from: rig.url("/second")).0 == Data("/second".utf8))
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("/first".utf8))
        }
    }

    @Test("A task suspended while it waits for a connection gives up its turn, and gets another when it is resumed")
    func whileQueued() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/first" ? .text("hello").after([.waitFor(gate)]) : .text("hello")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let tasks = ["/first", "/second", "/third"].map { rig.session.dataTask(with: rig.url($0)) }
        tasks[0].resume()
        try await rig.server.waitForRequests(1)
        tasks[1].resume()
        tasks[2].resume()
        tasks[1].suspend()
        gate.open()
        try await delegate.success(of: tasks[2])
        #expect(rig.server.requests.map(\.path) == ["/first", "/third"])
        tasks[1].resume()
        try await delegate.success(of: tasks[1])
    }

    @Test("A suspended task isn't timed out, wherever it stands", arguments: ["head", "body", "upload"])
    func noTimeout(stage: String) async throws {
        let (suspended, answers) = (Gate(), Gate())
        let holder = Watched<URLSessionTask?>(nil)
        // Suspended on the server's thread or the delegate's: a test's own may be late, with so many others about.
        let suspend: @Sendable () -> Void = {
            holder.value?.suspend()
            suspended.open()
        }
        let delegate = RecordingDelegate(onEvent: { _, event in
            if case .data = event, !suspended.isOpen { suspend() }
        })
        let rig = try Rig(delegate: delegate) { request in
            switch request.path {
            case "/clock":
                return .never
            case "/body":
                return .pieces([.bytes("he"), .waitFor(answers), .bytes("llo")])
            default:
                suspend()
                return .text("hello").after([.waitFor(answers)])
            }
        } configure: {
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        let task =
            stage == "upload"
            ? rig.session.uploadTask(with: URLRequest(rig.url("/head"), method: "PUT"), from: Data("body".utf8))
            : rig.session.dataTask(with: rig.url("/" + stage))
        holder.update { $0 = task }
        task.resume()
        try await suspended.wait()
        // Twice as long as the task's own time-out.
        let clock = await rig.session.load(URLRequest(rig.url("/clock"), timeout: 4))
        #expect(clock.error?.code == .timedOut)
        #expect(delegate.completionCount(of: task) == 0)
        #expect(task.state == .suspended)
        answers.open()
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
        holder.update { $0 = nil }
    }

    @Test("A task suspended while it connects isn't timed out")
    func noTimeoutWhileConnecting() async throws {
        let deaf = try LoopbackServer.deaf()
        defer { deaf.stop() }
        let silent = try LoopbackServer { _ in .never }
        defer { silent.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        // The first connects without being accepted; the others' attempts are not even acknowledged.
        let tasks = (0..<4).map { _ in session.dataTask(with: deaf.url("/")) }
        for task in tasks { task.resume() }
        await withCheckedContinuation { continuation in
            // Called when the loop has started them.
            session.flush {
                for task in tasks { task.suspend() }
                continuation.resume()
            }
        }
        let clock = await session.load(URLRequest(silent.url("/"), timeout: 4))
        #expect(clock.error?.code == .timedOut)
        for task in tasks {
            #expect(delegate.completionCount(of: task) == 0)
            #expect(task.state == .suspended)
        }
    }

    @Test(
        "A task suspended before the server has taken its request isn't timed out, and then waits again",
        arguments: ["tls", "tunnel", "ftp"]
    )
    func noTimeoutBeforeRequest(stage: String) async throws {
        let suspended = Gate()
        let holder = Watched<URLSessionTask?>(nil)
        let hasGoneOn = Watched(false)
        let server = try LoopbackServer(conversation: { number in
            { event in
                guard case .opened = event else { return [] }
                if number == 1 {
                    holder.value?.suspend()
                    suspended.open()
                } else {
                    hasGoneOn.update { $0 = true }
                }
                return []
            }
        })
        defer { server.stop() }
        let silent = try LoopbackServer { _ in .never }
        defer { silent.stop() }
        let delegate = RecordingDelegate(onEvent: { _, event in
            if case .completed = event { hasGoneOn.update { $0 = true } }
        })
        let session = URLSession.forTest(delegate: delegate) {
            $0.timeoutIntervalForRequest = 2
            guard stage == "tunnel" else { return }
            let proxy = CurlOptions.ProxyServer(.http, host: "127.0.0.1", port: server.port)
            $0.curl.hosts["far.example"].proxy = .server(proxy)
        }
        defer { session.invalidateAndCancel() }
        let texts = [
            "tls": "https://127.0.0.1:\(server.port)/", "tunnel": "https://far.example/",
            "ftp": "ftp://127.0.0.1:\(server.port)/file",
        ]
        let task = session.dataTask(with: try #require(texts[stage].flatMap { URL(string: $0) }))
        holder.update { $0 = task }
        task.resume()
        try await suspended.wait()
        // Twice as long as the task's own time-out.
        let clock = await session.load(URLRequest(silent.url("/"), timeout: 4))
        #expect(clock.error?.code == .timedOut)
        #expect(delegate.completionCount(of: task) == 0)
        task.resume()
        // libcurl may have given up the first attempt, and makes another. If it hasn't, the server has as long as before to say something.
        let secondClock = await session.load(URLRequest(silent.url("/"), timeout: 1))
        #expect(secondClock.error?.code == .timedOut)
        #expect(delegate.completionCount(of: task) == 0)
        try await hasGoneOn.wait { $0 }
        task.cancel()
        let code = try await delegate.completion(of: task)?.code
        #expect(code == .cancelled || stage == "ftp" && code == .timedOut)
        holder.update { $0 = nil }
    }

    @Test("A task resumed before libcurl gives up connecting has all of its time for another attempt")
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
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        // The first connects without being accepted; the others' attempts are not even acknowledged.
        let tasks = (0..<4).map { _ in session.dataTask(with: deaf.url("/")) }
        for task in tasks { task.resume() }
        await session.flush()
        for task in tasks { task.suspend() }
        let clock = await session.load(URLRequest(silent.url("/"), timeout: 1.5))
        #expect(clock.error?.code == .timedOut)
        for task in tasks { task.resume() }
        for task in tasks { #expect(try await delegate.completion(of: task)?.code == .timedOut) }
        try await ends.wait { $0.count == tasks.count }
        // Half a second was left of the first attempts.
        #expect(ends.value.allSatisfy { $0 >= .seconds(3.4) }, "\(ends.value)")
    }

    @Test("A resumed task is timed out again if nothing comes")
    func timeoutAfterResuming() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .never
        } configure: {
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await rig.server.waitForRequests(1)
        task.suspend()
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .timedOut)
    }
}
