import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A protocol class that doesn't do as it should", .timeLimit(.minutes(1)))
struct ProtocolMisbehaviourTests {
    private func load(_ script: @escaping MockNetwork.Script) async -> HandlerResult {
        let network = MockNetwork(script)
        let session = network.session()
        defer { session.invalidateAndCancel() }
        return await session.load(network.url())
    }

    @Test("The first of two responses counts")
    func twoResponses() async {
        let result = await load { load in
            load.respond(201)
            load.send("a")
            load.respond(500)
            load.send("b")
            load.finish()
        }
        #expect(result.response?.statusCode == 201)
        #expect(result.text == "ab")
    }

    @Test("Data that a class sends before the response comes after it")
    func earlyData() async throws {
        let script: MockNetwork.Script = { load in
            load.send("early ")
            load.respond()
            load.send("late")
            load.finish()
        }
        let result = await load(script)
        #expect(result.response?.statusCode == 200)
        #expect(result.text == "early late")
        let network = MockNetwork(script)
        let delegate = TimelineDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: network.url()).resume()
        #expect(try await delegate.completeStory() == ["created", "response", "data", "metrics", "completed"])
    }

    @Test("Data without a response comes with a plain one")
    func noResponse() async throws {
        let network = MockNetwork { load in
            load.send("data alone")
            load.finish()
        }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: network.url())
        #expect(data == Data("data alone".utf8))
        #expect(!(response is HTTPURLResponse))
        #expect(response.url == network.url())
        let (file, _) = try await session.download(from: network.url())
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("data alone".utf8))
        let (bytes, _) = try await session.bytes(from: network.url())
        var text = ""
        for try await line in bytes.lines { text += line }
        #expect(text == "data alone")
    }

    @Test("A load that only ends has an empty body")
    func onlyEnd() async {
        let result = await load { $0.finish() }
        #expect(result.error == nil)
        #expect(result.data == Data())
    }

    @Test("The first end of a load counts, be it a success or a failure")
    func endsTwice() async {
        let finished = await load { load in
            load.answer("good")
            load.finish()
            load.fail(URLError(.badURL))
            load.send("more")
            load.respond(500)
        }
        #expect(finished.error == nil)
        #expect(finished.text == "good")
        let failed = await load { load in
            load.fail(URLError(.badURL))
            load.answer("good")
        }
        #expect(failed.error?.code == .badURL)
    }

    @Test("A class may report from any thread, from many at once, and before startLoading has returned")
    func threads() async {
        let result = await load { load in
            load.respond()
            DispatchQueue.concurrentPerform(iterations: 200) { _ in load.send("12345") }
            Thread.detachNewThread {
                load.send("end")
                load.finish()
            }
        }
        #expect(result.text == String(repeating: "12345", count: 200) + "end")
    }

    @Test("What a class reports after it was told to stop doesn't count")
    func afterStop() async throws {
        let loads = Watched<[MockProtocol]>([])
        let network = MockNetwork { load in loads.update { $0.append(load) } }
        let delegate = RecordingDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.resume()
        try await loads.wait { $0.count == 1 }
        task.cancel()
        try await network.stops.wait { $0 == 1 }
        loads.value[0].answer("too late")
        loads.value[0].redirect(to: network.url("/next"))
        _ = try await delegate.completion(of: task)
        // Another task goes the same way and comes behind what was reported.
        let next = session.dataTask(with: network.url())
        next.resume()
        try await loads.wait { $0.count == 2 }
        loads.value[1].answer("fine")
        _ = try await delegate.completion(of: next)
        #expect(delegate.body(of: task) == nil)
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(delegate.completionCount(of: task) == 1)
        #expect(network.requests.value.count == 2)
        try await network.stops.wait { $0 == 2 }
    }

    @Test("A class that never finishes times out, idle or in all, and is told to stop", arguments: [true, false])
    func silent(isIdle: Bool) async throws {
        let network = MockNetwork { $0.respond() }
        let session = network.session { configuration in
            if isIdle {
                configuration.timeoutIntervalForRequest = 1
            } else {
                configuration.timeoutIntervalForResource = 1
            }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).error?.code == .timedOut)
        try await network.stops.wait { $0 == 1 }
    }

    /// Sends so many pieces, each some time after the one before, and ends.
    private static func send(_ count: Int, _ load: MockProtocol) {
        guard count > 0 else { return load.finish() }
        _ = Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in
            load.send("x")
            send(count - 1, load)
        }
    }

    @Test("Each report of a class starts the idle time-out anew")
    func slowReports() async {
        let network = MockNetwork { load in
            load.respond()
            Self.send(4, load)
        }
        let session = network.session { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "xxxx")
    }

    @Test("A class that can't decide about a request holds up no other task, and its task can be cancelled")
    func undecided() async throws {
        final class Undecided: MockProtocol, @unchecked Sendable {
            static let (asked, answer) = (Gate(), Gate())
            override class func canInit(with request: URLRequest) -> Bool {
                guard request.url?.path == "/undecided" else { return false }
                asked.open()
                answer.waitBlocking()
                return true
            }
        }
        let network = MockNetwork { $0.answer("fine") }
        let session = network.session(classes: [Undecided.self, MockProtocol.self])
        defer { session.invalidateAndCancel() }
        let task = Task { try await session.data(from: network.url("/undecided")) }
        try await Undecided.asked.wait()
        #expect(await session.load(network.url("/other")).text == "fine")
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? URLError)?.code == .cancelled }
        Undecided.answer.open()
        #expect(await session.load(network.url("/other")).text == "fine")
        #expect(network.requests.value.map(\.url?.path) == ["/other", "/other"])
    }

    @Test("A class that implements nothing fails its task")
    func nothing() async {
        final class Nothing: URLProtocol, @unchecked Sendable {
            override class func canInit(with request: URLRequest) -> Bool { true }
        }
        let session = URLSession.forTest { $0.protocolClasses = [Nothing.self] }
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(url: URL(fileURLWithPath: "/")))
        #expect(result.error?.code == .unsupportedURL)
    }

    @Test("A task that is suspended at its response gets all that its class has reported once it is resumed")
    func suspended() async throws {
        let network = MockNetwork { $0.answer("everything") }
        let suspended = Gate()
        let delegate = RecordingDelegate(onResponse: { task, _, answer in
            task.suspend()
            suspended.open()
            answer(.allow)
        })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.resume()
        try await suspended.wait()
        task.resume()
        _ = try await delegate.completion(of: task)
        #expect(delegate.body(of: task) == Data("everything".utf8))
        try await network.stops.wait { $0 == 1 }
    }

    @Test("No class is asked about a task that is cancelled before it begins")
    func suspendedBefore() async throws {
        let network = MockNetwork { $0.answer("fine") }
        let delegate = RecordingDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.cancel()
        _ = try await delegate.completion(of: task)
        #expect(network.requests.value.isEmpty)
        #expect(network.stops.value == 0)
    }

    @Test(
        "A huge body, all at once or in many pieces, reaches a slow reader whole and a little at a time",
        arguments: [1, 3000]
    )
    func huge(pieces: Int) async throws {
        let size = 30_000_000 / pieces
        let network = MockNetwork { load in
            load.respond()
            for number in 0..<pieces {
                load.client?.urlProtocol(load, didLoad: Data(repeating: UInt8(truncatingIfNeeded: number), count: size))
            }
            load.finish()
        }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: network.url())
        var count = 0
        var isRight = true
        for try await chunk in bytes.chunks {
            if let first = chunk.first { isRight = isRight && first == UInt8(truncatingIfNeeded: count / size) }
            // It was copied for the reader, and no more than the reader's share of it.
            #expect(bytes.task.countOfBytesReceived - Int64(count) <= 4_000_000)
            count += chunk.count
        }
        #expect(count == size * pieces)
        #expect(isRight)
    }
}
