import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("The pace of web sockets", .timeLimit(.minutes(3)))
struct WebSocketPaceTests {
    private typealias Frame = LoopbackServer.WebSocketFrame

    @Test("A server that floods is held back while no message is received, and all that it sent is there afterwards")
    func flood() async throws {
        let total: Int64 = 64 << 20
        let server = try LoopbackServer { request in
            .webSocket(request) { event in
                if case .opened = event {
                    return [.body(.frames(ofPayload: 4092, total: total)), .frame(.text("end"))]
                }
                return []
            }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await delegate.opening()
        try await server.waitUntilBlocked()
        #expect(server.bytesSent < total / 2)
        var count = 0
        while case .data(let data) = try await task.receive() {
            #expect(data.count == 4092)
            count += 1
        }
        #expect(Int64(count) == total / 4096)
    }

    @Test("The rates of connections don't apply to a web socket")
    func rates() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.connections.maximumReceiveRate = 100
            $0.curl.connections.maximumSendRate = 100
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        // At these rates this would take an hour in each direction.
        let text = String(repeating: "a", count: 400_000)
        try await task.send(.string(text))
        #expect(try await task.receiveText() == text)
    }

    @Test(
        "A server that never stops sending control frames delays no other task, nor the end of its own",
        arguments: [Frame.ping(""), .pong(Data())]
    )
    private func controlFrames(_ frame: Frame) async throws {
        let frames = Data((0...(1 << 17)).flatMap { _ in frame.bytes })
        let server = try LoopbackServer { request in
            guard request.path == "/flood" else { return .text("hello") }
            return .webSocket(request) { event in
                guard case .opened = event else { return [] }
                let endless = LoopbackServer.Body.produced(length: 1 << 50) { range in
                    frames.dropFirst(Int(range.lowerBound) % frame.bytes.count).prefix(range.count)
                }
                return [.body(endless)]
            }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL("/flood"))
        task.resume()
        // It has more for the client than that reads in a round.
        try await server.waitForBytesSent(8 << 20)
        #expect(await session.load(server.url("/")).text == "hello")
        task.cancel()
        #expect(try await delegate.completion().last == .completed(.cancelled))
    }

    @Test("Tiny messages count for what they cost: a server can't fill the memory with them")
    func tiny() async throws {
        let frame = Frame.binary(Data()).bytes
        let server = try LoopbackServer { request in
            .webSocket(request) { event in
                guard case .opened = event else { return [] }
                let frames = Data((0..<(1 << 16)).flatMap { _ in frame })
                return Array(repeating: .bytes(frames), count: 200) + [.never]
            }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await server.waitUntilBlocked()
        #expect(server.bytesSent < 20 << 20)
        #expect(try await task.receive() == .data(Data()))
    }

    @Test("A suspended task hands out nothing and still answers pings")
    func suspended() async throws {
        let pongs = Watched<[String]>([])
        let suspended = Gate()
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: return [.frame(.text("first")), .waitFor(suspended), .frame(.text("a")), .frame(.ping("p"))]
            case .received(let frame):
                if frame.opcode == Frame.Opcode.pong { pongs.update { $0.append(frame.text) } }
                return []
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        #expect(try await task.receiveText() == "first")
        task.suspend()
        #expect(task.state == .suspended)
        // Once the event loop has answered this, it has seen the suspension.
        _ = await rig.session.connections
        task.receive { delegate.note("received \((try? $0.get()) != nil)") }
        suspended.open()
        try await pongs.wait { $0 == ["p"] }
        // Whatever would have been handed out is ahead of this in the queue.
        await withCheckedContinuation { continuation in
            rig.session.delegateQueue.addOperation { continuation.resume() }
        }
        #expect(!delegate.events.contains(.noted("received true")))
        task.resume()
        try await delegate.wait { $0 == .noted("received true") }
    }

    @Test("A sender that outpaces its server is held, and all arrives in order")
    func sending() async throws {
        let gate = Gate()
        let received = Watched(0)
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: return [.stopReading, .waitFor(gate), .resumeReading]
            case .received(let frame):
                received.update { $0 += frame.payload.count }
                return []
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        let message = Data(repeating: 1, count: 1 << 20)
        let sent = Watched(0)
        let sender = Task {
            for _ in 0..<40 {
                try await task.send(.data(message))
                sent.update { $0 += 1 }
            }
        }
        try await delegate.opening()
        // A ping waits behind the message that isn't taken.
        let pinging = Task { try await task.sendPing() }
        try await sent.wait { $0 > 0 }
        try await sent.standsStill()
        // What was sent is with the system, in the sockets' buffers.
        let kernelMost = try ["tcp_wmem", "tcp_rmem"].map(Self.largestBuffer).reduce(0, +)
        #expect(sent.value << 20 <= kernelMost)
        gate.open()
        try await sender.value
        try await received.wait { $0 >= 40 << 20 }
        task.cancel()
        await #expect(throws: URLError.self) { try await pinging.value }
    }

    /// The largest buffer that the system gives a TCP socket in one direction, in bytes.
    private static func largestBuffer(_ name: String) throws -> Int {
        let sizes = try String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
        return try #require(sizes.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
    }

    @Test("Compressed messages are smaller on the wire, and a bomb stops at the maximum")
    func compression() async throws {
        let wire = Watched(0)
        let server = try LoopbackServer { request in
            .webSocket(request, headers: [("Sec-WebSocket-Extensions", "permessage-deflate")]) { event in
                guard case .received(var frame) = event else { return [] }
                wire.update { $0 += frame.payload.count }
                frame.mask = nil
                return [.frame(frame)]
            }
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        let text = String(repeating: "The same again and again. ", count: 20_000)
        for _ in 0..<3 {
            try await task.send(.string(text))
            #expect(try await task.receiveText() == text)
        }
        #expect(wire.value < text.utf8.count / 50)
        task.maximumMessageSize = text.utf8.count - 1
        try await task.send(.string(text))
        #expect(await task.receiveError()?.code == .dataLengthExceedsMaximum)
    }

    @Test("Compression that is switched off isn't offered")
    func uncompressed() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.curl.webSockets.compression = nil }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.sendPing()
        #expect(server.requests[0].header("Sec-WebSocket-Extensions") == nil)
    }
}
