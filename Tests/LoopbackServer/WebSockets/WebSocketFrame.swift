import Foundation

extension LoopbackServer {
    /// A frame of a web socket, byte for byte (RFC 6455 §5.2); it needn't be valid.
    package struct WebSocketFrame: Sendable, Equatable {
        package enum Opcode {
            package static let continuation: UInt8 = 0
            package static let text: UInt8 = 1
            package static let binary: UInt8 = 2
            package static let close: UInt8 = 8
            package static let ping: UInt8 = 9
            package static let pong: UInt8 = 10
        }

        package var opcode: UInt8
        package var payload: Data
        package var isFinal: Bool
        /// The three reserved bits; 4 is the first of them.
        package var reserved: UInt8 = 0
        /// nil for a frame that isn't masked, like a server's.
        package var mask: [UInt8]?

        package init(_ opcode: UInt8, _ payload: Data = Data(), isFinal: Bool = true, reserved: UInt8 = 0) {
            (self.opcode, self.payload, self.isFinal, self.reserved) = (opcode, payload, isFinal, reserved)
        }

        package static func text(_ text: String) -> WebSocketFrame { WebSocketFrame(Opcode.text, Data(text.utf8)) }
        package static func binary(_ data: Data) -> WebSocketFrame { WebSocketFrame(Opcode.binary, data) }
        package static func ping(_ text: String) -> WebSocketFrame { WebSocketFrame(Opcode.ping, Data(text.utf8)) }
        package static func pong(_ data: Data) -> WebSocketFrame { WebSocketFrame(Opcode.pong, data) }

        package static func close(_ code: Int?, _ reason: String = "") -> WebSocketFrame {
            let status = code.map { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
            return WebSocketFrame(Opcode.close, Data(status + Array(reason.utf8)))
        }

        /// The status of a close frame.
        package var closeCode: Int? {
            payload.count < 2 ? nil : Int(payload[payload.startIndex]) << 8 | Int(payload[payload.startIndex + 1])
        }

        package var text: String { String(decoding: payload, as: UTF8.self) }

        /// As on the wire.
        package var bytes: Data {
            var bytes = Data([(isFinal ? 0x80 : 0) | reserved << 4 | opcode])
            let maskBit: UInt8 = mask == nil ? 0 : 0x80
            switch payload.count {
            case ...125:
                bytes.append(maskBit | UInt8(payload.count))
            case ...0xFFFF:
                bytes.append(maskBit | 126)
                withUnsafeBytes(of: UInt16(payload.count).bigEndian) { bytes.append(contentsOf: $0) }
            default:
                bytes.append(maskBit | 127)
                withUnsafeBytes(of: UInt64(payload.count).bigEndian) { bytes.append(contentsOf: $0) }
            }
            guard let mask else { return bytes + payload }
            bytes.append(contentsOf: mask)
            for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index % 4]) }
            return bytes
        }
    }
}

/// Splits a client's bytes into frames. Trusts them: it is for tests.
package struct WebSocketFrameReader: Sendable {
    private var bytes: [UInt8] = []

    package init() {}

    /// The frames that are complete with `data`.
    package mutating func read(_ data: Data) -> [LoopbackServer.WebSocketFrame] {
        bytes.append(contentsOf: data)
        var frames: [LoopbackServer.WebSocketFrame] = []
        var start = 0
        while let (frame, end) = frame(at: start) {
            frames.append(frame)
            start = end
        }
        bytes.removeFirst(start)
        return frames
    }

    private func frame(at start: Int) -> (LoopbackServer.WebSocketFrame, end: Int)? {
        guard bytes.count >= start + 2 else { return nil }
        let short = Int(bytes[start + 1] & 0x7F)
        let lengthSize = short == 126 ? 2 : short == 127 ? 8 : 0
        let isMasked = bytes[start + 1] & 0x80 != 0
        var position = start + 2
        guard bytes.count >= position + lengthSize + (isMasked ? 4 : 0) else { return nil }
        let length = lengthSize == 0 ? short : bytes[position..<(position + lengthSize)].reduce(0) { $0 << 8 | Int($1) }
        position += lengthSize
        var mask: [UInt8]?
        if isMasked {
            mask = Array(bytes[position..<(position + 4)])
            position += 4
        }
        guard bytes.count >= position + length else { return nil }
        var payload = Data(bytes[position..<(position + length)])
        if let mask { for index in 0..<length { payload[index] ^= mask[index % 4] } }
        let first = bytes[start]
        var frame = LoopbackServer.WebSocketFrame(
            first & 0x0F,
            payload,
            isFinal: first & 0x80 != 0,
            reserved: first >> 4 & 7
        )
        frame.mask = mask
        return (frame, position + length)
    }
}
