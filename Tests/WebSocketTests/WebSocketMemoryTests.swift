import CurlNetworking
import CurlNetworkingLoopbackServer
import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite("The memory that web sockets take", .timeLimit(.minutes(10)))
struct WebSocketMemoryTests {
    /// How much a server floods with: `WEBSOCKET_FLOOD=1024` for a gigabyte. In bytes.
    private static var total: Int {
        (ProcessInfo.processInfo.environment["WEBSOCKET_FLOOD"].flatMap { Int($0) } ?? 64) << 20
    }

    /// A process may grow by that much, whatever is sent: a message that has been received, another that arrives, the server's own buffers,
    /// and what malloc keeps.
    private static let allowance = ProcessUsage.growth(of: 12 << 20)

    @Test("A flood takes no memory, whether its messages are received or not")
    func flood() async {
        await #expect(processExitsWith: .success) {
            let total = Int64(Self.total)
            let server = try LoopbackServer { request in
                .webSocket(request) { event in
                    guard case .opened = event else { return [] }
                    return [.body(.frames(ofPayload: 65532, total: total)), .frame(.text("end"))]
                }
            }
            let session = URLSession.forTest()
            let first = session.webSocketTask(with: server.webSocketURL())
            first.resume()
            // The first one starts what lives as long as the process.
            for _ in 0..<16 { _ = try await first.receive() }
            first.cancel()
            try await server.waitUntilNoConnections()
            ProcessUsage.trim()
            try ProcessUsage.resetPeak()
            let before = ProcessUsage().resident
            let begin = server.bytesSent
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            try await server.waitUntilBlocked()
            // What the server could send is with the system, but for those 256 KiB, a message, and a read.
            #expect(server.bytesSent - begin < total / 2)
            #expect(ProcessUsage().peak - before < Self.allowance)
            var count = 0
            while case .data(let data) = try await task.receive() { count += data.count }
            #expect(count == Int(total / 65536) * 65532)
            #expect(ProcessUsage().peak - before < Self.allowance)
            session.invalidateAndCancel()
            server.stop()
        }
    }

    /// A binary message that inflates to so many mebibytes.
    private static func bomb(mebibytes: Int) throws -> LoopbackServer.WebSocketFrame {
        let deflater = try #require(MessageDeflater(windowBits: 15, forgets: true))
        let piece = try #require([UInt8](repeating: 0, count: 1 << 20).withUnsafeBytes { deflater.deflate($0) })
        // Between pieces, what each leaves out at its end.
        let pieces = Array(repeating: piece, count: mebibytes).joined(separator: [0, 0, 0xFF, 0xFF])
        return LoopbackServer.WebSocketFrame(
            LoopbackServer.WebSocketFrame.Opcode.binary,
            Data(pieces),
            reserved: 4
        )
    }

    @Test("A compressed message that would be far larger than the maximum takes no more memory than that")
    func compressedFlood() async {
        await #expect(processExitsWith: .success) {
            let bomb = try Self.bomb(mebibytes: 256)
            let headers = [(name: "Sec-WebSocket-Extensions", value: "permessage-deflate")]
            let server = try LoopbackServer.forWebSockets(headers: headers) { event in
                if case .received = event { [.frame(bomb)] } else { [] }
            }
            let session = URLSession.forTest()
            func receive() async throws {
                let task = session.webSocketTask(with: server.webSocketURL())
                task.resume()
                try await task.send(.string("now"))
                #expect(await task.receiveError()?.code == .dataLengthExceedsMaximum)
            }
            // The first one starts what lives as long as the process.
            try await receive()
            ProcessUsage.trim()
            try ProcessUsage.resetPeak()
            let before = ProcessUsage().resident
            try await receive()
            #expect(ProcessUsage().peak - before < Self.allowance)
            session.invalidateAndCancel()
            server.stop()
        }
    }

    @Test("A sender that waits for each message takes the memory of one, however slowly the server takes them")
    func sender() async {
        await #expect(processExitsWith: .success) {
            let gate = Gate()
            let received = Watched(0)
            let server = try LoopbackServer.forWebSockets { event in
                switch event {
                case .opened: return [.stopReading, .waitFor(gate), .resumeReading]
                case .received(let frame):
                    received.update { $0 += frame.payload.count }
                    return []
                case .finished: return []
                }
            }
            let session = URLSession.forTest()
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            let message = Data(repeating: 1, count: 1 << 20)
            let count = 64
            try await task.send(.data(message))
            ProcessUsage.trim()
            try ProcessUsage.resetPeak()
            let before = ProcessUsage().resident
            let sent = Watched(1)
            let sender = Task {
                for _ in 1..<count {
                    try await task.send(.data(message))
                    sent.update { $0 += 1 }
                }
            }
            // The server takes nothing, and the system no more.
            try await sent.wait { $0 > 1 }
            try await sent.standsStill()
            gate.open()
            try await sender.value
            try await received.wait { $0 == count << 20 }
            #expect(ProcessUsage().peak - before < Self.allowance)
            session.invalidateAndCancel()
            server.stop()
        }
    }
}
