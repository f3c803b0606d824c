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
        let rig = try Rig { _ in
            .never
        } configure: {
            $0.timeoutIntervalForRequest = timeout
        }
        defer { rig.stop() }
        let elapsed = await Self.elapsed {
            let result = await rig.session.load(rig.url("/"))
            #expect(result.error?.code == .timedOut)
            #expect(result.error?.failingURL == rig.url("/"))
            #expect(result.error?.phase != nil)
        }
        #expect(elapsed >= .seconds(timeout))
        try await rig.server.waitUntilNoConnections()
    }

    @Test("Half a head, and half a body, are timed out as well", arguments: [true, false])
    func halfAnswers(isHead: Bool) async throws {
        // Long enough for the head to arrive, whatever else the machine does.
        let rig = try Rig { _ in
            isHead ? .fault(.insideHead, then: .hang) : .fault(.insideBody(after: 10, of: 20), then: .hang)
        } configure: {
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .timedOut)
        #expect((result.response == nil) == isHead)
    }

    @Test("A server that doesn't read an upload is timed out")
    func stalledUpload() async throws {
        let rig = try Rig(answering: .atHead) { _ in
            .raw([.stopReading, .never])
        } configure: {
            $0.timeoutIntervalForRequest = 0.5
        }
        defer { rig.stop() }
        let error = await #expect(throws: URLError.self) {
            _ = try await rig.session.upload(for: URLRequest(rig.url("/"), method: "PUT"), from: Data(count: 64 << 20))
        }
        #expect(error?.code == .timedOut)
    }

    @Test("A connection that isn't accepted is timed out")
    func connecting() async throws {
        let rig = try Rig(options: .deaf) { _ in
            .never
        } configure: {
            $0.timeoutIntervalForRequest = 0.3
        }
        defer { rig.stop() }
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<3 { group.addTask { await rig.session.load(rig.url("/")) } }
            for await result in group { #expect(result.error?.code == .timedOut) }
        }
    }

    @Test("Every byte sent starts the idle time-out anew")
    func resetBySending() async throws {
        // The whole takes longer than the time-out, and a stall must take a dozen pauses' time to be taken for silence.
        let trickle = (0..<13).flatMap { _ in
            [LoopbackServer.Step.stopReading, .pause(.milliseconds(250)), .resumeReading, .pause(.milliseconds(5))]
        }
        try await Self.upload(160 << 20, takenIn: trickle)
    }

    /// Uploads as many bytes, which the server takes in longer than the time-out of three seconds.
    private static func upload(_ count: Int, takenIn steps: [LoopbackServer.Step]) async throws {
        var options = LoopbackServer.Options()
        options.bodyLimit = 0
        let rig = try Rig(answering: .atHead, options: options) { _ in
            .text("done").after(steps + [.waitForBody])
        } configure: {
            $0.timeoutIntervalForRequest = 3
        }
        defer { rig.stop() }
        let elapsed = try await Self.elapsed {
            let request = URLRequest(rig.url("/"), method: "PUT")
            let (data, _) = try await rig.session.upload(for: request, from: Data(count: count))
            #expect(data == Data("done".utf8))
        }
        #expect(elapsed > .seconds(3))
    }

    @Test("Every byte that the system sends starts the idle time-out anew, even if it was given all of them long ago")
    func resetBySystem() async throws {
        // The system takes all of the body at once, and the server leaves it most of that for longer than the time-out.
        let size: Int64 = 64 << 10
        let trickle = (1...Int64(16)).flatMap { count in
            [
                LoopbackServer.Step.stopReading, .pause(.milliseconds(250)), .resumeReading,
                .receive(upTo: count * size) { _ in [] },
            ]
        }
        try await Self.upload(Int(16 * size), takenIn: trickle)
    }

    @Test("Every byte received starts the idle time-out anew")
    func resetByBytes() async throws {
        let trickle = (0..<32).flatMap { _ in [LoopbackServer.Step.bytes("x"), .pause(.milliseconds(100))] }
        #expect(try await Self.loadBeyondTimeout(.pieces(trickle)).count == 32)
    }

    /// Loads a response that takes longer than the idle time-out.
    private static func loadBeyondTimeout(_ response: LoopbackServer.Response) async throws -> Data {
        let rig = try Rig { _ in
            response
        } configure: {
            $0.timeoutIntervalForRequest = 3
        }
        defer { rig.stop() }
        var data = Data()
        let elapsed = try await elapsed { (data, _) = try await rig.session.data(from: rig.url("/")) }
        #expect(elapsed > .seconds(3))
        return data
    }

    @Test("Every byte of an incomplete line starts the idle time-out anew", arguments: ["head", "chunk", "trailer"])
    func resetWithinLines(part: String) async throws {
        // Each is longer than the time-out in tenths of a second.
        let name = "X-Name: " + String(repeating: "x", count: 24)
        let size = "3;name=" + String(repeating: "x", count: 25)
        func steps(_ text: String, isSlow: Bool) -> [LoopbackServer.Step] {
            isSlow ? text.flatMap { [.bytes(String($0)), .pause(.milliseconds(100))] } : [.bytes(text)]
        }
        let head = steps("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", isSlow: false)
        let steps =
            head + steps(name, isSlow: part == "head") + steps("\r\n\r\n", isSlow: false)
            + steps(size, isSlow: part == "chunk") + steps("\r\nabc\r\n0\r\n", isSlow: false)
            + steps(name, isSlow: part == "trailer") + steps("\r\n\r\n", isSlow: false)
        #expect(try await Self.loadBeyondTimeout(.raw(steps)) == Data("abc".utf8))
    }

    @Test(
        "While libcurl waits to keep to a rate, the idle clock stands still",
        arguments: ["GET", "PUT"],
        [true, false]
    )
    func rates(method: String, isSetByClosure: Bool) async throws {
        // In libcurl's bursts, more than the half of it moves at once.
        let content = GeneratedBody.bytes(seed: 15, length: 600_000)
        let rig = try Rig {
            $0.method == "PUT" ? .text("\($0.bodyLength)") : .data(content)
        } configure: {
            $0.timeoutIntervalForRequest = 1
            $0.curl.connections.receiveBufferSize = 4096
            $0.curl.connections.sendBufferSize = 512 << 10
            if isSetByClosure {
                $0.curl.configureTransfer = { transfer, _ in
                    try transfer.set("MAX_RECV_SPEED_LARGE", 200_000)
                    try transfer.set("MAX_SEND_SPEED_LARGE", 200_000)
                }
            } else {
                $0.curl.connections.maximumReceiveRate = 200_000
                $0.curl.connections.maximumSendRate = 200_000
            }
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: method, body: method == "PUT" ? content : nil)
        let result = await rig.session.load(request)
        #expect(result.error == nil)
        #expect(result.data == (method == "PUT" ? Data("600000".utf8) : content))
    }

    @Test("A server that falls silent is timed out all the same if there is a rate")
    func silentWithRate() async throws {
        let rig = try Rig { _ in
            .fault(.insideBody(after: 10, of: 20), then: .hang)
        } configure: {
            $0.timeoutIntervalForRequest = 1
            $0.curl.connections.maximumReceiveRate = 100
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .timedOut)
    }

    @Test("A request's own time-out goes before the configuration's")
    func ofRequest() async throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/"), timeout: 0.3))
        #expect(result.error?.code == .timedOut)
    }

    @Test("The resource time-out ends a task that keeps receiving")
    func resource() async throws {
        let rig = try Rig { _ in
            .generated(length: 1 << 40).throttled(bytesPerSecond: 100_000)
        } configure: {
            $0.timeoutIntervalForResource = 2
        }
        defer { rig.stop() }
        let elapsed = await Self.elapsed {
            let result = await rig.session.load(rig.url("/"))
            #expect(result.error?.code == .timedOut)
            #expect(result.response?.statusCode == 200)
        }
        #expect(elapsed >= .seconds(2))
        try await rig.server.waitUntilNoConnections()
    }

    @Test("While the delegate decides about the response, the idle clock stands still, and begins anew with its answer")
    func deciding() async throws {
        let asked = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in asked.update { $0.append(answer) } })
        let gate = Gate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/"
                ? .pieces([.waitFor(gate), .bytes("late")]) : .fault(.insideBody(after: 10, of: 20), then: .hang)
        } configure: {
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        defer { gate.open() }
        let silent = try LoopbackServer { _ in .never }
        defer { silent.stop() }
        let (task, other) = (rig.session.dataTask(with: rig.url("/")), rig.session.dataTask(with: rig.url("/never")))
        task.resume()
        try await asked.wait { $0.count == 1 }
        other.resume()
        try await asked.wait { $0.count == 2 }
        // Twice as long as both may be silent.
        let clock = await rig.session.load(URLRequest(silent.url("/"), timeout: 4))
        #expect(clock.error?.code == .timedOut)
        #expect(delegate.completionCount(of: task) == 0 && delegate.completionCount(of: other) == 0)
        for answer in asked.value { answer(.allow) }
        gate.open()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("late".utf8))
        #expect(try await delegate.completion(of: other)?.code == .timedOut)
    }

    @Test("The resource time-out ends a task whose delegate has yet to answer the response; the answer comes too late")
    func unanswered() async throws {
        let late = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        let delegate = RecordingDelegate(onResponse: { _, _, answer in late.update { $0 = answer } })
        let rig = try Rig(delegate: delegate) { _ in
            .generated(length: 1 << 30)
        } configure: {
            $0.timeoutIntervalForResource = 0.5
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .timedOut)
        late.value?(.allow)
        try await rig.server.waitUntilNoConnections()
        #expect(delegate.body(of: task) == nil)
    }

    @Test("The resource time-out spares a download that has arrived, and whose file takes its time")
    func slowFile() async {
        await #expect(processExitsWith: .success) {
            let delegate = RecordingDelegate()
            let rig = try Rig(delegate: delegate) { request in
                request.path == "/clock" ? .never : .text("hello")
            } configure: {
                $0.timeoutIntervalForResource = 3
            }
            defer { rig.stop() }
            let gate = Gate()
            DownloadHold.begin(until: gate)
            let task = rig.session.downloadTask(with: rig.url("/"))
            task.resume()
            try await rig.server.waitForRequests(1)
            #expect(await rig.session.load(rig.url("/clock")).error?.code == .timedOut)
            #expect(delegate.completionCount(of: task) == 0)
            gate.open()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("hello".utf8))
        }
    }

    @Test("The resource time-out counts the waiting for a connection; the idle one doesn't")
    func whileQueued() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .never
        } configure: {
            $0.useOneConnection()
            $0.timeoutIntervalForRequest = 0.2
            $0.timeoutIntervalForResource = 1.5
        }
        defer { rig.stop() }
        let first = rig.session.dataTask(with: URLRequest(rig.url("/first"), timeout: 30))
        let second = rig.session.dataTask(with: rig.url("/second"))
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
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            switch request.path {
            case "/first": .text("first").after([.waitFor(suspended)])
            case "/clock": .never
            default: .pieces([.bytes("hel"), .waitFor(answers), .bytes("lo")])
            }
        } configure: {
            $0.timeoutIntervalForResource = 3.5
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let first = rig.session.dataTask(with: rig.url("/first"))
        if place == .queued {
            first.resume()
            try await rig.server.waitForRequests(1)
        }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        switch place {
        case .parked: break
        case .queued: await rig.session.flush()
        case .connected: try await rig.server.waitForRequests(1)
        case .receiving: try await delegate.wait(for: task, bytes: 3)
        }
        task.suspend()
        suspended.open()
        // Longer than the task may take.
        let other = URLSession.forTest()
        defer { other.invalidateAndCancel() }
        #expect(await other.load(URLRequest(rig.url("/clock"), timeout: 4)).error?.code == .timedOut)
        #expect(delegate.completionCount(of: task) == 0)
        #expect(task.state == .suspended)
        answers.open()
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("A resumed task has the rest of its resource time-out and no more")
    func resourceAfterResuming() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .never
        } configure: {
            $0.timeoutIntervalForResource = 2
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await rig.server.waitForRequests(1)
        for _ in 0..<3 {
            task.suspend()
            await rig.session.flush()
            task.resume()
            await rig.session.flush()
        }
        #expect(try await delegate.completion(of: task)?.code == .timedOut)
    }

    @Test("Zero and infinity mean no time-out", arguments: [0, .infinity, -1])
    func none(timeout: TimeInterval) async throws {
        let rig = try Rig { request in
            request.path == "/clock" ? .never : .text("hello").after([.pause(.milliseconds(700))])
        } configure: {
            $0.timeoutIntervalForRequest = timeout
            $0.timeoutIntervalForResource = timeout
        }
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/"))
        #expect(data == Data("hello".utf8))
    }
}
