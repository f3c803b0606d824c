import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Messages that are sent without the loop")
struct WebSocketSenderTests {
    /// Two ends of a connection; the near one is what a channel would have.
    private final class Pair: Sendable {
        let near: Int32
        let far: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw URLError(.unknown) }
            (near, far) = (ends[0], ends[1])
            // The system's smallest buffer.
            var size: Int32 = 1
            setsockopt(near, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }

        deinit {
            close(near)
            close(far)
        }

        /// What has come to the far end.
        func read() -> Data {
            var data = Data()
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let count = recv(far, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return data }
                data.append(contentsOf: buffer[..<count])
            }
        }
    }

    private final class Owner: WebSocketExchangeOwner {
        let wishes = Watched(0)
        var announcesWebSocket: Bool { false }
        func webSocketWishesChanged() { wishes.update { $0 += 1 } }
        func call(_ body: @escaping @Sendable () -> Void) { body() }
        func callAfterEnd(_ body: @escaping @Sendable () -> Void) { body() }
        func tell(_ event: TaskEvent) {}
    }

    private let pair: Pair
    private let socket: PlainSocket
    private let exchange = WebSocketExchange(WebSocketHandshake(protocols: [], compression: nil))
    private let owner = Owner()
    private let results = Watched<[String]>([])

    init() throws {
        pair = try Pair()
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
        #expect(owner.wishes.value == 1)
        #expect(exchange.takeLine() == nil)
        send("d", .text("three"))
        #expect(results.value.count == 2)
        #expect(pair.read().isEmpty)
        #expect(owner.wishes.value == 2)
    }

    @Test("What the system doesn't take is the connection's to send, and what comes later waits behind it")
    func unfinished() throws {
        #expect(exchange.lendLine(WebSocketSender(socket)))
        send("a", .binary(Data(count: WebSocketSender.largestMessage)))
        send("b", .text("later"))
        #expect(results.value == [])
        #expect(owner.wishes.value == 2)
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
        #expect(results.value == ["a failed"])
        #expect(pair.read().isEmpty)
        #expect(exchange.takeLine() == nil)
        #expect(!exchange.lendLine(WebSocketSender(socket)))
    }

    @Test("A socket that libcurl closes takes and gives nothing more: its number may be another's")
    func closed() {
        "ab".utf8.withContiguousStorageIfAvailable { bytes in
            #expect(socket.send(UnsafeRawBufferPointer(bytes)) == 2)
        }
        #expect(pair.read() == Data("ab".utf8))
        _ = Glibc.send(pair.far, "c", 1, 0)
        socket.close()
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(buffer.withUnsafeMutableBytes { socket.receive(into: $0) } == 0)
        #expect(buffer.withUnsafeBytes { socket.send($0) } == 0)
        #expect(pair.read().isEmpty)
    }
}
