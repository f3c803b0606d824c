import CurlNetworkingLoopbackServer
import Foundation
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
}

/// An open web socket's connection whose calls a test makes on its loop. What the program wants isn't passed on to it.
///
/// `@unchecked Sendable`: `connection` is touched on the loop alone.
private final class WebSocketConnectionRig: @unchecked Sendable {
    let exchange = WebSocketExchange(WebSocketHandshake.Offer())
    let endings = Watched<[WebSocketCloseHandshake.Ending]>([])
    private let channel: ChannelRig
    private var connection: WebSocketConnection?

    init(_ url: URL, closeTimeout: Duration = .seconds(10)) async throws {
        channel = try await ChannelRig(url)
        await channel.perform { [self] channel in
            exchange.join(self)
            exchange.opened(nil)
            let connection = WebSocketConnection(
                channel,
                exchange,
                nil,
                after: [],
                isPaused: false,
                closeTimeout: closeTimeout,
                loop: ChannelRig.loop,
                owner: self
            )
            self.connection = connection
            channel.delegate = self
            connection.start()
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
    func webSocketWishesChanged() {}
    func addCall(_ body: @escaping @Sendable () -> Void) -> Bool {
        body()
        return false
    }
    func deliverCalls() {}
    func tell(_ event: TaskEvent) {}
    var announcesWebSocket: Bool { false }
}

extension WebSocketConnectionRig: WebSocketConnectionOwner {
    func webSocketFinished(_ ending: WebSocketCloseHandshake.Ending, _ failure: TransferFailure?) {
        endings.update { $0.append(ending) }
    }
}

extension WebSocketConnectionRig: ChannelDelegate {
    func channelOpened(_ channel: Channel) {}
    func channelReading(_ channel: Channel) -> ChannelReading { connection?.nextReading ?? .upTo(.max) }
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) { connection?.received(bytes) }
    func channelSentAll(_ channel: Channel) { connection?.sentAll() }
    func channelReachedEnd(_ channel: Channel) { connection?.reachedEnd() }
    func channel(_ channel: Channel, failed failure: TransferFailure) { connection?.failed(failure) }
}
