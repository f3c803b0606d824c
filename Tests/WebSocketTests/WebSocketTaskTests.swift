import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("What a web-socket task has from its session, and tells of itself", .timeLimit(.minutes(2)))
struct WebSocketTaskTests {
    @Test("Entries of the host table lead to another address, and to a Unix socket")
    func hosts() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.url.appendingPathComponent("s").path
        let local = try LoopbackServer(unixSocket: .path(path)) { .webSocketEcho($0) }
        defer { local.stop() }
        let rig = try Rig { request in
            .webSocketEcho(request)
        } configure: {
            $0.curl.hosts["chat.test"].names.addresses = ["127.0.0.1"]
            $0.curl.hosts["socket.test"].names.unixSocket = .path(path)
        }
        defer { rig.stop() }
        for (host, server) in [("chat.test", rig.server), ("socket.test", local)] {
            let address = "ws://\(host):\(rig.server.port)/a"
            let task = rig.session.webSocketTask(with: try #require(URL(string: address)))
            task.resume()
            try await task.send(.string(host))
            #expect(try await task.receiveText() == host)
            #expect(server.requests.map { $0.header("Host") } == ["\(host):\(rig.server.port)"])
        }
    }

    @Test("Neither the cache nor protocol classes take part in a web socket")
    func cacheAndClasses() async throws {
        let rig = try Rig { request in
            request.header("Upgrade") == nil
                ? .text("kept").header("Cache-Control", "max-age=1000") : .webSocketEcho(request)
        } configure: {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/a")).text == "kept")
        let cachedOnly = URLRequest(url: rig.url("/a"), cachePolicy: .returnCacheDataDontLoad)
        #expect(await rig.session.load(cachedOnly).text == "kept")
        let eager = URLSession.forTest { $0.protocolClasses = [EagerProtocol.self] }
        defer { eager.invalidateAndCancel() }
        for session in [rig.session, eager] {
            let task = session.webSocketTask(with: cachedOnly)
            task.resume()
            try await task.send(.string("a"))
            #expect(try await task.receiveText() == "a")
            task.cancel()
        }
        #expect(rig.server.requestCount == 3)
    }

    @Test("A web socket's description is the program's, and the session lists it until it is over")
    func description() async throws {
        let delegate = WebSocketDelegate()
        let rig = try Rig(delegate: delegate) { .webSocketEcho($0) }
        defer { rig.stop() }
        let task = rig.session.webSocketTask(with: rig.server.webSocketURL())
        task.taskDescription = "chat"
        task.resume()
        try await delegate.opening()
        #expect(await rig.session.allTasks.map(\.taskDescription) == ["chat"])
        task.cancel(with: .normalClosure, reason: nil)
        try await delegate.completion()
        #expect(task.taskDescription == "chat")
        #expect(await rig.session.allTasks.isEmpty)
    }

    @Test("A web socket's metrics have a transaction for the redirect and one for the web socket")
    func metricsOverRedirect() async throws {
        let delegate = SocketMetricsDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/" ? .redirect(to: "/there") : .webSocketEcho(request)
        }
        defer { rig.stop() }
        let task = rig.session.webSocketTask(with: rig.server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        task.cancel(with: .normalClosure, reason: nil)
        try await delegate.metrics.wait { $0 != nil }
        let metrics = try #require(delegate.metrics.value)
        #expect(metrics.redirectCount == 1)
        let hops = metrics.transactionMetrics
        #expect(hops.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 101])
        #expect(hops.map(\.request.url) == ["/", "/there"].map { rig.server.webSocketURL($0) })
        #expect(hops.map(\.networkProtocolName) == ["http/1.1", "http/1.1"])
        for hop in hops {
            let sent = try #require(hop.requestStartDate)
            #expect(try #require(hop.connectEndDate) <= sent)
            #expect(hop.requestEndDate == sent)
            #expect(sent <= (try #require(hop.responseStartDate)))
            #expect(hop.countOfRequestHeaderBytesSent > 0)
            #expect(hop.countOfResponseHeaderBytesReceived > 0)
        }
    }

    @Test("The metrics of a web socket that couldn't connect tell how far it came")
    func metricsOfFailure() async throws {
        let delegate = SocketMetricsDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "ws://127.0.0.1:\(try LoopbackServer.refusingPort())/"))
        session.webSocketTask(with: url).resume()
        try await delegate.metrics.wait { $0 != nil }
        let hop = try #require(delegate.metrics.value?.transactionMetrics.first)
        #expect(hop.request.url == url && hop.response == nil && hop.networkProtocolName == nil)
        #expect(hop.domainLookupStartDate != nil && hop.domainLookupEndDate != nil)
        #expect(hop.connectEndDate == nil && hop.requestStartDate == nil && hop.responseEndDate == nil)
    }

    @Test("Messages of all sizes, sent by handlers and by calls that wait, arrive in the order of the calls")
    func order() async throws {
        let received = Watched<[Int]>([])
        let rig = try Rig { request in
            .webSocket(request) { event in
                if case .received(let frame) = event, frame.opcode != 8 {
                    received.update { $0.append(frame.payload.count) }
                }
                return []
            }
        }
        defer { rig.stop() }
        let task = rig.session.webSocketTask(with: rig.server.webSocketURL())
        task.resume()
        var random = SeededGenerator(seed: 7)
        // Larger ones go out in several frames.
        let sizes = (0..<200).map { _ in
            Bool.random(using: &random)
                ? Int.random(in: 0..<300, using: &random) : Int.random(in: 0..<262_145, using: &random)
        }
        let answered = Watched<[Int]>([])
        for (number, size) in sizes.enumerated() {
            let message = URLSessionWebSocketTask.Message.data(Data(count: size))
            if number % 3 == 0 {
                try await task.send(message)
            } else {
                task.send(message) { error in
                    #expect(error == nil)
                    answered.update { $0.append(number) }
                }
            }
        }
        try await received.wait { $0.count == sizes.count }
        #expect(received.value == sizes)
        let handlers = sizes.indices.filter { $0 % 3 != 0 }
        try await answered.wait { $0.count == handlers.count }
        #expect(answered.value == handlers)
    }

    @Test("Many callers that send at once all get their answers, and no message is lost or mixed up")
    func concurrentSenders() async throws {
        let rig = try Rig { .webSocketEcho($0) }
        defer { rig.stop() }
        let task = rig.session.webSocketTask(with: rig.server.webSocketURL())
        task.resume()
        let (senders, count) = (8, 100)
        async let received = {
            var texts: Set<String> = []
            for _ in 0..<(senders * count) { texts.insert(try await task.receiveText()) }
            return texts
        }()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in 0..<count {
                        let text = "\(sender) \(number) " + String(repeating: "a", count: number * 37 % 5000)
                        try await task.send(.string(text))
                        if number % 10 == 0 { try await task.sendPing() }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await received.count == senders * count)
    }

    @Test("A server that misbehaves on an open web socket ends it with the status that says why", arguments: 0..<11)
    func misbehaviour(number: Int) async throws {
        typealias Frame = LoopbackServer.WebSocketFrame
        let half = Frame(1, Data("a".utf8), isFinal: false).bytes
        let cases: [(Data, Int)] = [
            (half + Frame.text("b").bytes, 1002),
            (half + Frame(0, Data([0xFF])).bytes, 1007),
            (half + Frame(9, isFinal: false).bytes, 1002),
            (Frame(1, Data([0xE2, 0x82])).bytes, 1007),
            (Frame(1, Data([0xED, 0xA0, 0x80])).bytes, 1007),
            (Data([0x89, 126, 0, 126]), 1002),
            (Data([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]), 1002),
            (Data([0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255]), 1009),
            (Frame(8, Data([3, 232, 0xC3])).bytes, 1007),
            (Frame(11).bytes, 1002),
            (Frame(10, reserved: 4).bytes, 1002),
        ]
        let (bytes, code) = cases[number]
        let frames = Watched<[Frame]>([])
        let delegate = WebSocketDelegate()
        let rig = try Rig(delegate: delegate) { request in
            .webSocket(request) { event in
                switch event {
                // In pieces, and followed by what no longer counts.
                case .opened: return bytes.map { .bytes(Data([$0])) } + [.frame(.text("late"))]
                case .received(let frame):
                    frames.update { $0.append(frame) }
                    return [.close]
                case .finished: return []
                }
            }
        }
        defer { rig.stop() }
        let task = rig.session.webSocketTask(with: rig.server.webSocketURL())
        task.resume()
        let events = try await delegate.completion()
        #expect(events.first == .opened(nil) && events.count == 2)
        #expect(task.closeCode.rawValue == code)
        #expect(task.error != nil)
        try await frames.wait { $0.map(\.closeCode) == [code] }
        #expect(await task.receiveError() != nil)
        try await rig.server.waitUntilNoConnections()
    }

    @Test(
        "A server that hangs up amid a frame, or without a close frame, fails the task with 1006",
        arguments: [true, false]
    )
    func hangsUp(amidFrame: Bool) async throws {
        let delegate = WebSocketDelegate()
        let rig = try Rig(delegate: delegate) { request in
            .webSocket(request) { event in
                guard case .opened = event else { return [] }
                return amidFrame ? [.bytes(Data([0x81, 5, 0x61])), .close] : [.close]
            }
        }
        defer { rig.stop() }
        let task = rig.session.webSocketTask(with: rig.server.webSocketURL())
        task.resume()
        #expect(try await delegate.completion() == [.opened(nil), .completed(.networkConnectionLost)])
        #expect(task.closeCode == .abnormalClosure)
        #expect(await task.receiveError()?.code == .networkConnectionLost)
        await #expect(throws: URLError.self) { try await task.send(.string("a")) }
    }
}

private final class SocketMetricsDelegate: NSObject, URLSessionTaskDelegate {
    let metrics = Watched<URLSessionTaskMetrics?>(nil)

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.update { $0 = metrics }
    }
}

/// Would take every request.
private final class EagerProtocol: URLProtocol, @unchecked Sendable {
    // @unchecked: it has no stored property.
    override class func canInit(with request: URLRequest) -> Bool { true }

    override func startLoading() {
        client?.urlProtocol(self, didFailWithError: URLError(.cannotLoadFromNetwork))
    }

    override func stopLoading() {}
}
