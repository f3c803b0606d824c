import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Messages that are sent without the loop")
struct WebSocketSenderTests {
    private final class Owner: WebSocketExchangeOwner {
        let changes = Watched(0)
        var announcesWebSocket: Bool { false }
        var isSuspended: Bool { false }
        func webSocketExchangeChanged() { changes.update { $0 += 1 } }
        let calls = Watched<[@Sendable () -> Void]>([])
        func addCall(_ kind: Mailbox.CallKind, _ body: @escaping @Sendable () -> Void) -> Bool {
            calls.update { $0.append(body) }
            return true
        }
        func deliverCalls() {
            let bodies = calls.update { calls in
                defer { calls = [] }
                return calls
            }
            for body in bodies { body() }
        }
        func releaseMessages() {}
        func whenShown(_ action: @escaping () -> Void) { action() }
        func tell(_ event: TaskEvent) {}
    }

    private let pair: SocketPair
    private let socket: PlainSocket
    private let exchange = WebSocketExchange(WebSocketHandshake.Offer())
    private let owner = Owner()
    private let results = Watched<[String]>([])

    init() throws {
        pair = try SocketPair()
        socket = PlainSocket(pair.near)
        exchange.join(owner)
        exchange.opened(nil)
    }

    private func send(_ name: String, _ message: WebSocketMessage) {
        exchange.send(message, isHandler: true) { [results] result in
            results.update { $0.append("\(name) \((try? result.get()) == nil ? "failed" : "sent")") }
        }
    }

    private func frames(_ data: Data) -> [String] {
        var reader = WebSocketFrameReader()
        return reader.read(data).map { $0.payload.count > 100 ? "\($0.payload.count)" : $0.text }
    }

    @Test("While the connection lends its line, a message is with the system when the call returns")
    func lent() throws {
        send("a", .text("early"))
        #expect(!exchange.lendLine(WebSocketSender(socket)))
        _ = exchange.takeSend()
        #expect(exchange.lendLine(WebSocketSender(socket)))
        send("b", .text("one"))
        send("c", .binary(Data("two".utf8)))
        #expect(results.value == ["b sent", "c sent"])
        #expect(frames(pair.read()) == ["one", "two"])
        #expect(owner.changes.value == 1)
        #expect(exchange.takeLine() == nil)
        send("d", .text("three"))
        #expect(results.value.count == 2)
        #expect(pair.read().isEmpty)
        #expect(owner.changes.value == 2)
    }

    @Test("The connection sends what the system doesn't take of a message, and later ones wait behind it")
    func unfinished() throws {
        #expect(exchange.lendLine(WebSocketSender(socket)))
        send("a", .binary(Data(count: WebSocketSender.largestMessage)))
        send("b", .text("later"))
        #expect(results.value == [])
        #expect(owner.changes.value == 2)
        #expect(!exchange.lendLine(WebSocketSender(socket)))
        let unfinished = try #require(exchange.takeLine())
        #expect(frames(pair.read() + unfinished.rest) == ["\(WebSocketSender.largestMessage)"])
        #expect(exchange.takeSend()?.message == .text("later"))
        exchange.complete(unfinished.waiter, .success(())) { $0() }
        #expect(results.value == ["a sent"])
    }

    @Test("A message of several frames is the connection's, and takes the line with it")
    func large() {
        #expect(exchange.lendLine(WebSocketSender(socket)))
        send("a", .binary(Data(count: WebSocketSender.largestMessage + 1)))
        send("b", .text("later"))
        #expect(pair.read().isEmpty)
        #expect(exchange.takeLine() == nil)
        #expect(exchange.takeSend()?.message.count == WebSocketSender.largestMessage + 1)
        #expect(exchange.takeSend()?.message == .text("later"))
    }

    @Test("Once the program wants to close, nothing more is sent, and the line isn't lent again")
    func closing() {
        #expect(exchange.lendLine(WebSocketSender(socket)))
        #expect(exchange.close(WebSocketClosing(1000)))
        send("a", .text("too late"))
        #expect(pair.read().isEmpty)
        #expect(exchange.takeLine() == nil)
        #expect(exchange.takeSend() == nil)
        exchange.end(URLError(.networkConnectionLost), isCancelled: false) { $0() }
        #expect(results.value == ["a failed"])
        #expect(!exchange.lendLine(WebSocketSender(socket)))
    }

    @Test("Callers on many threads send whole messages, each one's in its order, while the connection takes the line")
    func concurrent() throws {
        let (senders, each) = (4, 200)
        #expect(exchange.lendLine(WebSocketSender(socket)))
        let sending = DispatchGroup()
        for sender in 0..<senders {
            DispatchQueue.global().async(group: sending) { [self] in
                for number in 0..<each {
                    let filling = String(repeating: "x", count: (number * 37) % 300)
                    send("\(sender) \(number)", .text("\(sender) \(number) \(filling)"))
                }
            }
        }
        // What the connection does on its loop: takes the line, sends what waits, and lends the line again.
        let connection = WebSocketSender(socket)
        var received = Data()
        func serve() {
            received += pair.read()
            var rest = Data()
            func flush() {
                while !rest.isEmpty {
                    rest = rest.dropFirst(rest.withUnsafeBytes { socket.send($0) })
                    received += pair.read()
                }
            }
            if let unfinished = exchange.takeLine() {
                rest = Data(unfinished.rest)
                flush()
                exchange.complete(unfinished.waiter, .success(())) { $0() }
            }
            while let sending = exchange.takeSend() {
                rest = Data(connection.send(sending.message))
                flush()
                exchange.complete(sending.waiter, .success(())) { $0() }
            }
            _ = exchange.lendLine(connection)
        }
        while sending.wait(timeout: .now()) == .timedOut { serve() }
        serve()
        received += pair.read()
        var reader = WebSocketFrameReader()
        let texts = reader.read(received).map(\.text)
        #expect(texts.count == senders * each)
        for sender in 0..<senders {
            let numbers = texts.filter { $0.hasPrefix("\(sender) ") }.compactMap { Int($0.split(separator: " ")[1]) }
            #expect(numbers == Array(0..<each), "the order of the calls")
        }
        #expect(Set(results.value) == Set((0..<senders).flatMap { a in (0..<each).map { "\(a) \($0) sent" } }))
        #expect(results.value.count == senders * each)
    }

    @Test("A task that ends while a caller has sent half of a message fails that one, and those after it, once")
    func cancelled() throws {
        #expect(exchange.lendLine(WebSocketSender(socket)))
        send("a", .binary(Data(count: WebSocketSender.largestMessage)))
        send("b", .text("later"))
        // What the connection does when it is cancelled.
        let unfinished = try #require(exchange.takeLine())
        exchange.giveBack([unfinished.waiter])
        exchange.end(URLError(.cancelled), isCancelled: true) { $0() }
        #expect(results.value == ["a failed", "b failed"])
        #expect(!exchange.lendLine(WebSocketSender(socket)))
        send("c", .text("too late"))
        #expect(results.value == ["a failed", "b failed", "c failed"])
    }

    @Test("A peer that has hung up leaves the message to the connection, which finds the error")
    func hungUp() throws {
        #expect(exchange.lendLine(WebSocketSender(socket)))
        pair.hangUp()
        send("a", .text("nobody hears"))
        #expect(results.value == [])
        #expect(owner.changes.value == 1)
        #expect(socket.hasFailed)
        let unfinished = try #require(exchange.takeLine())
        #expect(frames(Data(unfinished.rest)) == ["nobody hears"])
    }

    @Test("Messages compressed by their callers and by the connection share one window, in the order of the wire")
    func compressed() throws {
        let compression = WebSocketCompression()
        let compressor = WebSocketCompressor(compression)
        let sender = WebSocketSender(socket, compressor)
        let text = String(repeating: "What was said before is short to say again. ", count: 5)
        #expect(exchange.lendLine(sender))
        send("a", .text(text))
        #expect(results.value == ["a sent"])
        let first = pair.read()
        #expect(exchange.takeLine() == nil)
        // The connection's turn.
        let payload = try #require(Array(text.utf8).withUnsafeBytes { compressor.compress($0) })
        #expect(exchange.lendLine(sender))
        send("b", .text(text))
        send("c", .text("short"))
        let second = pair.read()
        #expect(second.count < first.count / 2)
        var reader = WebSocketFrameReader()
        var frames = reader.read(first + second)
        #expect(frames.map(\.reserved) == [4, 4, 0])
        var own = LoopbackServer.WebSocketFrame(LoopbackServer.WebSocketFrame.Opcode.text, Data(payload))
        own.reserved = 4
        frames.insert(own, at: 1)
        let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
        var assembler = WebSocketAssembler(maximumMessageSize: 1 << 20, inflater: inflater)
        var seen: [WebSocketAssembler.Event] = []
        for var frame in frames {
            frame.mask = nil
            let events = try frame.bytes.withUnsafeBytes { bytes in
                var input = bytes
                var events: [WebSocketAssembler.Event] = []
                while let event = try assembler.next(&input) { events.append(event) }
                return events
            }
            seen += events
        }
        #expect(seen == [text, text, text, "short"].map { .message(.text($0)) })
    }

    @Test("A socket that libcurl closes takes and gives nothing more: its number may be another's")
    func closed() {
        "ab".utf8.withContiguousStorageIfAvailable { bytes in
            #expect(socket.send(UnsafeRawBufferPointer(bytes)) == 2)
        }
        #expect(pair.read() == Data("ab".utf8))
        pair.write("c")
        socket.withdraw()
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(buffer.withUnsafeMutableBytes { socket.receive(into: $0) } == 0)
        #expect(buffer.withUnsafeBytes { socket.send($0) } == 0)
        #expect(pair.read().isEmpty)
    }
}
