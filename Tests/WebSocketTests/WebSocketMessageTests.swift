import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Messages of web sockets", .timeLimit(.minutes(2)))
struct WebSocketMessageTests {
    @Test("Text and data come back as they were sent, whatever their length")
    func echo() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        for length in [0, 1, 125, 126, 127, 65535, 65536, 300_000, 1_000_000] {
            let data = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            try await task.send(.data(data))
            #expect(try await task.receive() == .data(data))
            let text = String(repeating: "ä", count: length / 2)
            try await task.send(.string(text))
            #expect(try await task.receive() == .string(text))
        }
        #expect(server.requests[0].header("Sec-WebSocket-Version") == "13")
        #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
    }

    @Test("Messages that are sent and asked for before the task is resumed wait, in order")
    func early() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        for number in 0..<3 {
            task.send(.string("\(number)")) { delegate.note("sent \(number) \($0 == nil)") }
            task.receive { delegate.note("received \((try? $0.get()).map { "\($0)" } ?? "nothing")") }
        }
        #expect(delegate.events.isEmpty)
        task.resume()
        try await delegate.wait { $0 == .noted("received string(\"2\")") }
        let events = delegate.events
        #expect(events.first == .opened(nil))
        let sent = events.filter { if case .noted(let text) = $0 { text.hasPrefix("sent") } else { false } }
        #expect(sent == (0..<3).map { .noted("sent \($0) true") })
        let received = events.filter { if case .noted(let text) = $0 { text.hasPrefix("received") } else { false } }
        #expect(received == (0..<3).map { .noted("received string(\"\($0)\")") })
    }

    @Test("Fragments with control frames between them are one message, and each ping is answered")
    func fragments() async throws {
        typealias Frame = LoopbackServer.WebSocketFrame
        let pongs = Watched<[String]>([])
        let rig = try WebSocketRig { event in
            switch event {
            case .opened:
                let frames: [Frame] = [
                    Frame(1, Data("Hal".utf8), isFinal: false), .ping("one"),
                    Frame(0, Data([0x6C, 0xC3]), isFinal: false),
                    .ping("two"), Frame(0, Data([0xB6]), isFinal: true), .text("next"),
                ]
                return frames.map { .frame($0) }
            case .received(let frame):
                if frame.opcode == Frame.Opcode.pong { pongs.update { $0.append(frame.text) } }
                return []
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let task = rig.task
        #expect(try await task.receiveText() == "Hallö")
        #expect(try await task.receiveText() == "next")
        try await pongs.wait { $0.count == 2 }
        #expect(pongs.value == ["one", "two"])
    }

    @Test("A large message goes out in fragments, masked, with another key for each")
    func fragmentsSent() async throws {
        typealias Frame = LoopbackServer.WebSocketFrame
        let frames = Watched<[Frame]>([])
        let rig = try WebSocketRig { event in
            if case .received(let frame) = event { frames.update { $0.append(frame) } }
            return []
        }
        defer { rig.stop() }
        let task = rig.task
        let data = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
        try await task.send(.data(data))
        try await frames.wait { $0.last?.isFinal == true }
        let sent = frames.value
        #expect(sent.map(\.opcode) == [2, 0, 0])
        #expect(sent.map(\.isFinal) == [false, false, true])
        #expect(sent.reduce(Data()) { $0 + $1.payload } == data)
        #expect(Set(sent.compactMap(\.mask)).count == 3)
    }

    @Test("A pong answers its ping, and an unsolicited one answers none")
    func pings() async throws {
        typealias Frame = LoopbackServer.WebSocketFrame
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: [.frame(.pong(Data("unasked".utf8)))]
            case .received(let frame) where frame.opcode == LoopbackServer.WebSocketFrame.Opcode.ping:
                [.frame(.pong(frame.payload))]
            case .received, .finished: []
            }
        }
        defer { rig.stop() }
        let task = rig.task
        try await task.sendPing()
        try await task.sendPing()
        let answered = Gate()
        task.sendPing { if $0 == nil { answered.open() } }
        try await answered.wait()
    }

    @Test("A message that has been sent arrives, even if the program exits then", arguments: [1, 4 << 20])
    func exit(size: Int) async throws {
        let count = Watched(0)
        let server = try LoopbackServer.forWebSockets { event in
            if case .received(let frame) = event { count.update { $0 += frame.payload.count } }
            return []
        }
        defer { server.stop() }
        await #expect(processExitsWith: .success) { [url = server.webSocketURL() as URL, size = size as Int] in
            let task = URLSession(configuration: .ephemeral).webSocketTask(with: url)
            task.resume()
            try await task.send(.data(Data(repeating: 7, count: size)))
            _exit(EXIT_SUCCESS)
        }
        try await count.wait { $0 == size }
    }

    @Test("A message that is too large fails the task, and the server is told so", arguments: [false, true])
    func tooLarge(isFragmented: Bool) async throws {
        typealias Frame = LoopbackServer.WebSocketFrame
        let closes = Watched<[Int?]>([])
        let server = try LoopbackServer.forWebSockets { event in
            switch event {
            case .opened:
                let half = Data(repeating: 1, count: 51)
                return isFragmented
                    ? [.frame(Frame(2, half, isFinal: false)), .frame(Frame(0, half, isFinal: true))]
                    : [.frame(.binary(half + half))]
            case .received(let frame):
                if frame.opcode == Frame.Opcode.close { closes.update { $0.append(frame.closeCode) } }
                return [.close]
            case .finished: return []
            }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        #expect(task.maximumMessageSize == 1024 * 1024)
        task.maximumMessageSize = 101
        task.resume()
        #expect(await task.receiveError()?.code == .dataLengthExceedsMaximum)
        try await closes.wait { $0 == [1009] }
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .completed(.dataLengthExceedsMaximum)])
        #expect(task.closeCode == .messageTooBig)
    }

    @Test("A server that breaks the protocol fails the task with 1002, one that sends no text with 1007")
    func violations() async throws {
        typealias Frame = LoopbackServer.WebSocketFrame
        var masked = Frame.text("a")
        masked.mask = [1, 2, 3, 4]
        let cases: [(Data, Int)] = [
            (masked.bytes, 1002), (Frame(3).bytes, 1002), (Frame(1, reserved: 4).bytes, 1002),
            (Frame(0).bytes, 1002), (Frame(9, isFinal: false).bytes, 1002),
            (Frame(1, Data([0xC0, 0x80])).bytes, 1007), (Frame.close(1005).bytes, 1002),
            (Frame(8, Data([3])).bytes, 1002), (Data([0x82, 126, 0, 5]), 1002),
        ]
        for (bytes, code) in cases {
            let closes = Watched<[Int?]>([])
            let server = try LoopbackServer.forWebSockets { event in
                switch event {
                case .opened: return [.bytes(bytes)]
                case .received(let frame):
                    closes.update { $0.append(frame.closeCode) }
                    return [.close]
                case .finished: return []
                }
            }
            defer { server.stop() }
            let session = URLSession.forTest()
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            #expect(await task.receiveError() != nil)
            try await closes.wait { $0 == [code] }
            #expect(task.closeCode.rawValue == code)
        }
    }

    @Test("A Swift task that is cancelled while it waits for a message loses none")
    func cancelledReceiver() async throws {
        let gate = Gate()
        let rig = try WebSocketRig { event in
            if case .opened = event { return [.waitFor(gate), .frame(.text("a"))] }
            return []
        }
        defer { rig.stop() }
        let task = rig.task
        let waiting = Task { try await task.receive() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        gate.open()
        #expect(try await task.receiveText() == "a")
    }

    @Test("A Swift task that is cancelled goes on sending its message, and waiting for its pong")
    func cancelledSender() async throws {
        let gate = Gate()
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: [.waitFor(gate)]
            case .received(let frame) where frame.opcode == LoopbackServer.WebSocketFrame.Opcode.ping:
                [.frame(.pong(frame.payload))]
            case .received(let frame): [.frame(.text(frame.text))]
            case .finished: []
            }
        }
        defer { rig.stop() }
        let task = rig.task
        let sending = Task { try await task.send(.string("a")) }
        let pinging = Task { try await task.sendPing() }
        sending.cancel()
        pinging.cancel()
        gate.open()
        try await sending.value
        try await pinging.value
        #expect(try await task.receiveText() == "a")
    }

    @Test("The sequence of messages ends where the server closes as it should", arguments: [1000, 1001, nil])
    func sequence(status: Int?) async throws {
        let rig = try WebSocketRig { event in
            if case .opened = event { return ["a", "b", "c"].map { .frame(.text($0)) } + [.frame(.close(status))] }
            return [.close]
        }
        defer { rig.stop() }
        let task = rig.task
        var messages: [URLSessionWebSocketTask.Message] = []
        for try await message in task.messages { messages.append(message) }
        #expect(messages == [.string("a"), .string("b"), .string("c")])
        #expect(task.closeStatus == status ?? 1005)
    }
}
