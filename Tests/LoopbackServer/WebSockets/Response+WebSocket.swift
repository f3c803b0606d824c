import Foundation

extension LoopbackServer {
    /// What happens on an open web socket.
    package enum WebSocketEvent: Sendable {
        case opened
        /// The client has sent this frame.
        case received(WebSocketFrame)
        /// The client has sent FIN. Only with `Options.allowsHalfClose`.
        case finished
    }

    /// Says what to do when something happens on a web socket. Called on the server's loop.
    package typealias WebSocketConversation = @Sendable (WebSocketEvent) -> [Step]
}

extension LoopbackServer.Step {
    package static func frame(_ frame: LoopbackServer.WebSocketFrame) -> Self { .bytes(frame.bytes) }
}

extension LoopbackServer.Response {
    /// Opens the web socket that the request asks for, and converses over it.
    ///
    /// - Parameter headers: Further fields of the answer.
    package static func webSocket(
        _ request: LoopbackServer.Request,
        headers: [LoopbackServer.Field] = [],
        _ conversation: @escaping LoopbackServer.WebSocketConversation
    ) -> Self {
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(webSocketAccept(for: request))\r\n"
        for field in headers { head += "\(field.name): \(field.value)\r\n" }
        let reader = Locked(WebSocketFrameReader())
        return .raw(
            [.bytes(head + "\r\n")] + conversation(.opened) + [
                .converse { event in
                    switch event {
                    case .opened: []
                    case .received(let data):
                        reader.withLock { $0.read(data) }.flatMap { conversation(.received($0)) }
                    case .finished: conversation(.finished)
                    }
                }
            ]
        )
    }

    /// Sends back what it gets, as RFC 6455 says, until the client closes.
    package static func webSocketEcho(
        _ request: LoopbackServer.Request,
        headers: [LoopbackServer.Field] = []
    ) -> Self {
        webSocket(request, headers: headers) { event in
            guard case .received(var frame) = event else { return [] }
            frame.mask = nil
            switch frame.opcode {
            case LoopbackServer.WebSocketFrame.Opcode.ping: return [.frame(.pong(frame.payload))]
            case LoopbackServer.WebSocketFrame.Opcode.pong: return []
            case LoopbackServer.WebSocketFrame.Opcode.close: return [.frame(frame), .close]
            default: return [.frame(frame)]
            }
        }
    }

    /// The value of `Sec-WebSocket-Accept` (RFC 6455 §4.2.2).
    package static func webSocketAccept(for request: LoopbackServer.Request) -> String {
        let key = (request.header("Sec-WebSocket-Key") ?? "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(sha1(Array(key.utf8))).base64EncodedString()
    }

    /// RFC 3174, as simple as possible.
    private static func sha1(_ message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        padded += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (message.count * 8) >> (8 * $0)) }
        var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        func rotated(_ value: UInt32, _ bits: UInt32) -> UInt32 { value << bits | value >> (32 - bits) }
        for block in stride(from: 0, to: padded.count, by: 64) {
            var words = (0..<16).map { word in
                padded[(block + 4 * word)..<(block + 4 * word + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for t in 16..<80 { words.append(rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1)) }
            var v = hash
            for t in 0..<80 {
                let f =
                    t < 20
                    ? v[1] & v[2] | ~v[1] & v[3]
                    : t < 40 || t >= 60 ? v[1] ^ v[2] ^ v[3] : v[1] & v[2] | v[1] & v[3] | v[2] & v[3]
                let k: [UInt32] = [0x5A82_7999, 0x6ED9_EBA1, 0x8F1B_BCDC, 0xCA62_C1D6]
                let next = rotated(v[0], 5) &+ f &+ v[4] &+ k[t / 20] &+ words[t]
                v = [next, v[0], rotated(v[1], 30), v[2], v[3]]
            }
            for index in 0..<5 { hash[index] &+= v[index] }
        }
        return hash.flatMap { word in (0..<4).reversed().map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
}
