import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("The connection of a web socket, without a task", .timeLimit(.minutes(2)))
struct WebSocketConnectionTests {
    private typealias Frame = LoopbackServer.WebSocketFrame

    /// What a server has got.
    private let frames = Watched<[Frame]>([])
    private let results = Watched<[String]>([])

    private func makeServer() throws -> LoopbackServer {
        try LoopbackServer { [frames] _ in
            let reader = Watched(WebSocketFrameReader())
            return { event in
                guard case .received(let data) = event else { return [] }
                let seen = reader.update { $0.read(data) }
                frames.update { $0 += seen }
                return []
            }
        }
    }

    /// A handler that writes down what it is called with.
    private func note(_ name: String) -> @Sendable (Result<Void, any Error>) -> Void {
        { [results] result in
            let hasFailed = if case .failure = result { true } else { false }
            results.update { $0.append("\(name) \(hasFailed ? "failed" : "sent")") }
        }
    }

    @Test("Nothing follows the close frame of a task that is cancelled with messages still waiting")
    func cancelled() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let rig = try await WebSocketConnectionRig(server.url)
        await rig.perform { [self] connection, exchange in
            exchange.send(.text("a"), isHandler: true, note("a"))
            connection.proceed()
            exchange.send(.text("b"), isHandler: true, note("b"))
            _ = exchange.close(WebSocketClosing(1000))
            connection.cancel()
            exchange.end(URLError(.cancelled), isCancelled: true) { $0() }
        }
        try await frames.wait { $0.contains { $0.opcode == Frame.Opcode.close } }
        try await server.waitUntilNoConnections()
        #expect(frames.value.map(\.opcode) == [Frame.Opcode.text, Frame.Opcode.close])
        #expect(frames.value.last?.closeCode == 1001)
        #expect(results.value == ["a sent", "b failed"])
        await rig.close()
    }

    @Test("A close frame that was read before the connection failed counts, and so do the messages before it")
    func closedBeforeFailure() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let rig = try await WebSocketConnectionRig(server.url)
        let received = Watched<[Int]>([])
        await rig.perform { connection, exchange in
            let large = Frame.binary(Data(count: 300_000))
            let parts: [Frame] = [large, .text("last"), .close(1001)]
            let frames = parts.map(\.bytes).reduce(Data(), +)
            frames.withUnsafeBytes { connection.received($0) }
            #expect(exchange.isFull)
            connection.failed(TransferFailure(code: .sendError, text: "reset"))
            for _ in 0..<2 {
                exchange.receive(exchange.makeReceiver(), isHandler: false) { result in
                    received.update { $0.append((try? result.get())?.count ?? -1) }
                }
            }
        }
        #expect(rig.endings.value == [.closed(WebSocketClosing(1001))])
        #expect(received.value == [300_000, 4])
        #expect(rig.exchange.closeCode == 1001)
        await rig.close()
        try await server.waitUntilNoConnections()
    }

    @Test("A large message is compressed piece by piece, between which the loop serves others, and is what it was")
    func largeCompressed() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let rig = try await WebSocketConnectionRig(server.url, WebSocketCompression())
        // Far less than the system takes at once when compressed.
        let text = String(repeating: "An event that is like all others. ", count: 200_000)
        let isSent = Gate()
        await rig.perform { [self] connection, exchange in
            exchange.send(.text(text), isHandler: true) { [results] _ in
                results.update { $0.append("sent") }
                isSent.open()
            }
            connection.proceed()
            ChannelRig.loop.submit { [results] in results.update { $0.append("others") } }
        }
        try await isSent.wait()
        #expect(results.value == ["others", "sent"])
        try await frames.wait { $0.last?.isFinal == true }
        let frames = frames.value
        #expect(frames.first?.opcode == Frame.Opcode.text && frames.first?.reserved == 4)
        #expect(frames.count > 1)
        #expect(frames.dropFirst().allSatisfy { $0.opcode == Frame.Opcode.continuation && $0.reserved == 0 })
        let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
        var assembler = WebSocketAssembler(maximumMessageSize: 1 << 30, inflater: inflater)
        var whole = Frame(Frame.Opcode.text, frames.map(\.payload).reduce(Data(), +))
        whole.reserved = 4
        let event = try whole.bytes.withUnsafeBytes { bytes in
            var input = bytes
            return try assembler.next(&input)
        }
        #expect(event == .message(.text(text)))
        await rig.close()
        try await server.waitUntilNoConnections()
    }

    @Test("A large message is inflated piece by piece, between which the loop serves others, and is what it was")
    func largeInflated() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let rig = try await WebSocketConnectionRig(server.url, WebSocketCompression())
        rig.exchange.maximumMessageSize = .max
        let deflater = try #require(MessageDeflater(windowBits: 15, forgets: false))
        let content = [UInt8](repeating: 7, count: 20 << 20)
        let payload = try #require(content.withUnsafeBytes { deflater.deflate($0) })
        await rig.perform { [self] connection, exchange in
            var frame = Frame.binary(Data(payload))
            frame.reserved = 4
            (frame.bytes + Frame.binary(Data("after it".utf8)).bytes).withUnsafeBytes { connection.received($0) }
            results.update { $0.append(exchange.isFull ? "whole" : "part") }
            ChannelRig.loop.submit { [results] in results.update { $0.append(exchange.isFull ? "whole" : "part") } }
        }
        for expected in [Data(content), Data("after it".utf8)] {
            let message = Watched<Data?>(nil)
            rig.exchange.receive(rig.exchange.makeReceiver(), isHandler: false) { result in
                if case .success(.binary(let data)) = result { message.update { $0 = data } }
            }
            try await message.wait { $0 != nil }
            #expect(message.value == expected)
            await rig.perform { connection, _ in connection.proceed() }
        }
        #expect(results.value == ["part", "part"])
        await rig.close()
        try await server.waitUntilNoConnections()
    }

    @Test("Messages that arrived before one that can't be sent count, although the program had enough of them")
    func closedBeforeUnsendable() async throws {
        // More than is read with the third one, after which the program has enough.
        let messages = [100_000, 100_000, 100_000, 66_000].map { Frame.binary(Data(count: $0)).bytes }
        let bytes = messages.reduce(Data(), +) + Frame.close(1000).bytes
        let server = try LoopbackServer { _ in { $0.isOpened ? [.bytes(bytes), .reset] : [] } }
        defer { server.stop() }
        let rig = try await WebSocketConnectionRig(server.url)
        server.makeRoomAtClients()
        try await eventually { rig.exchange.isFull }
        // The system has the rest.
        let isReset = await rig.channel.perform { channel in
            var entry = pollfd(fd: channel.descriptor ?? -1, events: 0, revents: 0)
            return poll(&entry, 1, 60_000) == 1
        }
        #expect(isReset == true)
        await rig.perform { connection, exchange in
            exchange.send(.text("unread"), isHandler: true) { _ in }
            connection.proceed()
        }
        try await rig.endings.wait { !$0.isEmpty }
        #expect(rig.endings.value == [.closed(WebSocketClosing(1000))])
        await rig.close()
        try await server.waitUntilNoConnections()
    }

    @Test("Bytes read with the last message don't fill the memory when the connection fails, however small it was")
    func bombBeforeFailure() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let compression = WebSocketCompression(serverForgets: true)
        let rig = try await WebSocketConnectionRig(server.url, compression)
        let deflater = try #require(MessageDeflater(windowBits: 15, forgets: true))
        let zeros = [UInt8](repeating: 0, count: 100_000)
        let payload = try #require(zeros.withUnsafeBytes { deflater.deflate($0) })
        await rig.perform { connection, exchange in
            var frame = Frame.binary(Data(payload))
            frame.reserved = 4
            let frames = Array(repeating: frame.bytes, count: 100).reduce(Data(), +) + Frame.close(1000).bytes
            frames.withUnsafeBytes { connection.received($0) }
            connection.failed(TransferFailure(code: .sendError, text: "reset"))
        }
        try await rig.endings.wait { !$0.isEmpty }
        await rig.perform { _, exchange in
            exchange.end(URLError(.networkConnectionLost), isCancelled: false) { $0() }
        }
        // Some of the messages are missing, so it isn't told as closed.
        #expect(rig.endings.value == [.lost(sent: nil)])
        let count = Watched(0)
        let isOver = Watched(false)
        while !isOver.value {
            rig.exchange.receive(rig.exchange.makeReceiver(), isHandler: false) { result in
                if case .success = result { count.update { $0 += 1 } } else { isOver.update { $0 = true } }
            }
        }
        #expect(count.value == 42)
        await rig.close()
        try await server.waitUntilNoConnections()
    }
}

/// An open web socket's connection whose calls a test makes on its loop. What the program wants isn't passed on to it.
///
/// `@unchecked Sendable`: `connection` is touched on the loop alone.
private final class WebSocketConnectionRig: @unchecked Sendable {
    let exchange = WebSocketExchange(WebSocketHandshake.Offer())
    let endings = Watched<[WebSocketCloseHandshake.Ending]>([])
    let channel: ChannelRig
    private var connection: WebSocketConnection?

    init(_ url: URL, _ compression: WebSocketCompression? = nil) async throws {
        channel = try await ChannelRig(url)
        await channel.perform { [self] channel in
            exchange.join(self)
            exchange.opened(nil)
            let connection = WebSocketConnection(
                channel,
                exchange,
                compression: compression,
                after: [],
                closeTimeout: .seconds(10),
                loop: ChannelRig.loop,
                owner: self
            )
            self.connection = connection
            channel.delegate = self
            connection.proceed()
        }
    }

    func perform(_ body: @escaping @Sendable (WebSocketConnection, WebSocketExchange) -> Void) async {
        await channel.perform { [self] _ in
            if let connection { body(connection, exchange) }
        }
    }

    func close() async {
        await channel.perform { [self] _ in connection = nil }
        await channel.close()
    }
}

extension WebSocketConnectionRig: WebSocketExchangeOwner {
    func webSocketExchangeChanged() {}
    func addCall(_ kind: Mailbox.CallKind, _ body: @escaping @Sendable () -> Void) -> Bool {
        body()
        return false
    }
    func deliverCalls() {}
    func releaseMessages() {}
    func whenShown(_ action: @escaping () -> Void) { action() }
    func tell(_ event: TaskEvent) {}
    var announcesWebSocket: Bool { false }
    var isSuspended: Bool { false }
}

extension WebSocketConnectionRig: WebSocketConnectionOwner {
    func webSocketFinished(_ ending: WebSocketCloseHandshake.Ending, _ failure: TransferFailure?) {
        endings.update { $0.append(ending) }
    }
}

extension WebSocketConnectionRig: ChannelDelegate {
    var takesLastWords: Bool { true }
    func channelOpened(_ channel: Channel) {}
    func channelReading(_ channel: Channel) -> ChannelReading { connection?.nextReading ?? .upTo(.max) }
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) { connection?.received(bytes) }
    func channelSentAll(_ channel: Channel) { connection?.sentAll() }
    func channelReachedEnd(_ channel: Channel) { connection?.reachedEnd() }
    func channel(_ channel: Channel, failed failure: TransferFailure) { connection?.failed(failure) }
}
