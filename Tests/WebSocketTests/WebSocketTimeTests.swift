import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Time-outs of web sockets", .timeLimit(.minutes(2)))
struct WebSocketTimeTests {
    @Test("The time for the whole task ends an open web socket, and whatever waits")
    func resource() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForResource = 3 }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        #expect(await task.receiveError()?.code == .timedOut)
        #expect(try await delegate.completion() == [.opened(nil), .completed(.timedOut)])
        try await server.waitUntilNoConnections()
    }

    @Test("The time for the request counts until the web socket is open, and not afterwards")
    func request() async throws {
        let gate = Gate()
        let server = try LoopbackServer.forWebSockets { event in
            guard case .opened = event else { return [] }
            return [.waitFor(gate), .frame(.text("at last"))]
        }
        defer { server.stop() }
        let silence = try SilentServer()
        defer { silence.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await delegate.opening()
        // Its time begins later, and ends.
        let other = await session.load(try #require(URL(string: "http://127.0.0.1:\(silence.port)/")))
        #expect(other.error?.code == .timedOut)
        gate.open()
        #expect(try await task.receiveText() == "at last")
    }

    @Test("The limits on the age of connections don't count for open web sockets")
    func lifetime() async throws {
        let server = try LoopbackServer { request in
            guard request.path == "/long" else { return .webSocketEcho(request) }
            return .webSocket(request) { event in
                switch event {
                case .opened: [.pause(.milliseconds(1200)), .frame(.text("old"))]
                case .received(let frame): [.frame(.text(frame.text))]
                case .finished: []
                }
            }
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.connections.lifetime = .seconds(1)
            $0.curl.connections.idleLifetime = .seconds(1)
        }
        defer { session.invalidateAndCancel() }
        let long = session.webSocketTask(with: server.webSocketURL("/long"))
        long.resume()
        #expect(try await long.receiveText() == "old")
        // libcurl looks for connections that are too old when it makes another.
        for _ in 0..<2 {
            let other = session.webSocketTask(with: server.webSocketURL("/other"))
            other.resume()
            try await other.send(.string("a"))
            #expect(try await other.receiveText() == "a")
        }
        try await long.send(.string("still there"))
        #expect(try await long.receiveText() == "still there")
    }

    @Test("A server that never completes its answer times out")
    func half() async throws {
        let server = try LoopbackServer { _ in .raw([.bytes("HTTP/1.1 101 Switching Protocols\r\nUpgr"), .never]) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.timeoutIntervalForRequest = 0.3 }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        let error = await task.receiveError()
        #expect(error?.code == .timedOut)
        #expect(error?.phase == "receiving", "the request was sent")
        try await server.waitUntilNoConnections()
    }

    @Test("A server that closes without an answer to the handshake is told of as one whose answer was awaited")
    func noAnswer() async throws {
        let server = try LoopbackServer { _ in .fault(.beforeAnyByte) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        let error = await task.receiveError()
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.phase == "receiving")
    }

    @Test("A server that doesn't answer the close frame in time fails the task, which isn't told that it has closed")
    func closing() async throws {
        let frames = Watched<[Int?]>([])
        let server = try LoopbackServer.forWebSockets { event in
            if case .received(let frame) = event { frames.update { $0.append(frame.closeCode) } }
            return []
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.webSockets.closeTimeout = .milliseconds(200) }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await delegate.opening()
        task.cancel(with: .normalClosure, reason: nil)
        // Its messages don't end as if the server had answered.
        let error = await #expect(throws: URLError.self) { for try await _ in task.messages {} }
        #expect(error?.code == .networkConnectionLost)
        #expect(await task.receiveError()?.code == .networkConnectionLost)
        #expect(try await delegate.completion() == [.opened(nil), .completed(.networkConnectionLost)])
        // The server has to have read it, however busy the machine.
        try await frames.wait { $0 == [1000] }
        #expect(task.closeCode == .normalClosure)
        try await server.waitUntilNoConnections()
    }

    @Test("A server that takes longer for the earlier messages than it may for its answer, but takes some, can answer")
    func closingWhileSlow() async throws {
        let rig = try WebSocketRig(configure: { $0.curl.webSockets.closeTimeout = .seconds(1) }) { event in
            guard case .received(let frame) = event else { return [] }
            if frame.closeCode == 1000 { return [.frame(.close(1000))] }
            return [.stopReading, .pause(.milliseconds(100)), .resumeReading]
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        // The system takes all of them, and the close frame.
        for _ in 0..<16 { try await task.send(.data(Data(count: 128 << 10))) }
        task.cancel(with: .normalClosure, reason: nil)
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
    }

    @Test("A server that only goes on pinging after the close frame fails the task, though it takes the pongs")
    func closingWhilePinging() async throws {
        let rig = try WebSocketRig(configure: { $0.curl.webSockets.closeTimeout = .milliseconds(300) }) { event in
            switch event {
            case .opened: return [.frame(.ping("first"))]
            // The system acknowledges the pong with the next ping.
            case .received(let frame) where frame.opcode == LoopbackServer.WebSocketFrame.Opcode.pong:
                return [.pause(.milliseconds(25)), .frame(.ping("next"))]
            case .received, .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        task.cancel(with: .normalClosure, reason: nil)
        #expect(try await delegate.completion() == [.opened(nil), .completed(.networkConnectionLost)])
    }

    @Test("A server that takes nothing of what is to be sent before the close frame fails the task, and the message")
    func closingWhileStuck() async throws {
        let server = try LoopbackServer.forWebSockets { event in
            if case .opened = event { [.stopReading] } else { [] }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.webSockets.closeTimeout = .milliseconds(200) }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await delegate.opening()
        task.send(.data(Data(count: 64 << 20))) { error in
            delegate.note((error as? URLError)?.code == .networkConnectionLost ? "lost" : "sent")
        }
        task.cancel(with: .normalClosure, reason: nil)
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .noted("lost"), .completed(.networkConnectionLost)])
        // No close frame was sent.
        #expect(task.closeCode == .abnormalClosure)
    }

    @Test("Messages that aren't received don't keep a server from taking what is to be sent before the close frame")
    func closingWithFullInbox() async throws {
        let rig = try WebSocketRig { event in
            switch event {
            // It reads on when all of its own has been read.
            case .opened:
                return [.stopReading] + (0..<16).map { _ in .frame(.binary(Data(count: 1 << 20))) } + [.resumeReading]
            case .received(let frame): return frame.closeCode == 1000 ? [.frame(.close(1000))] : []
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        // More than the system takes.
        for _ in 0..<16 { task.send(.data(Data(count: 1 << 20))) { if $0 != nil { delegate.note("unsent") } } }
        task.cancel(with: .normalClosure, reason: nil)
        #expect(try await delegate.completion() == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
    }

    @Test("A server that answers the close frame and doesn't hang up is hung up on", arguments: [true, false])
    func lingering(serverIsFirst: Bool) async throws {
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: return serverIsFirst ? [.frame(.close(1000))] : []
            case .received(let frame): return serverIsFirst || frame.closeCode == nil ? [] : [.frame(.close(1000))]
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        if !serverIsFirst { task.cancel(with: .normalClosure, reason: nil) }
        #expect(try await delegate.completion() == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
        try await rig.server.waitUntilNoConnections()
    }

    @Test("A task that is to begin later opens nothing before, and its delegate is asked when the time has come")
    func beginDate() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = TimelineDelegate(onDelayedRequest: { _, answer in
            #expect(server.connectionCount == 0)
            answer(.continueLoading, nil)
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let never = session.webSocketTask(with: server.webSocketURL())
        never.earliestBeginDate = .distantFuture
        never.resume()
        let task = session.webSocketTask(with: server.webSocketURL())
        let date = Date(timeIntervalSinceNow: 0.05)
        task.earliestBeginDate = date
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(Date() >= date && server.connectionCount == 1)
        never.cancel()
        await #expect(throws: URLError.self) { try await never.receive() }
        #expect(server.connectionCount == 1)
    }

    @Test("A task that waits for connectivity is opened when the server can be reached")
    func connectivity() async throws {
        let port = try LoopbackServer.unusedPort()
        let server = Watched<LoopbackServer?>(nil)
        defer { server.value?.stop() }
        let delegate = TimelineDelegate(onWaiting: {
            let started = try? LoopbackServer(port: port) { .webSocketEcho($0) }
            server.update { $0 = started }
        })
        let session = URLSession.forTest(delegate: delegate) { $0.waitsForConnectivity = true }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try #require(URL(string: "ws://127.0.0.1:\(port)/")))
        task.resume()
        try await delegate.wait(for: "waiting")
        session.retryUnreachableHosts()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(server.value?.requestCount == 1)
    }
}
