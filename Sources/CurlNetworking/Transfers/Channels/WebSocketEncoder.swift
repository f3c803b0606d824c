import CurlTransport
import Foundation

/// Writes messages and control frames to a channel, masked, and compressed where that was agreed on. Loop only.
struct WebSocketEncoder {
    private var keys = WebSocketMaskingKeys()
    private let compression: WebSocketCompression?
    /// nil until the first message that is to be compressed, and after zlib has failed.
    private var deflater: MessageDeflater?
    private var mayCompress: Bool
    private var message: Message?

    private struct Message {
        let opcode: WebSocketFrameHeader.Opcode
        let isCompressed: Bool
        let payload: Payload
        var offset = 0
    }

    private enum Payload {
        case data(Data)
        case bytes([UInt8])

        func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            switch self {
            case .data(let data): data.withUnsafeBytes(body)
            case .bytes(let bytes): bytes.withUnsafeBytes(body)
            }
        }
    }

    /// A larger message goes in several frames, and control frames can come between them. In bytes.
    private static let largestFrame = 256 * 1024
    /// Smaller messages gain nothing. In bytes.
    private static let leastCompressed = 64

    init(_ compression: WebSocketCompression?) {
        self.compression = compression
        mayCompress = compression?.canCompress ?? false
    }

    /// Some of a message has yet to be written.
    var isInMessage: Bool { message != nil }

    mutating func encode(_ opcode: WebSocketFrameHeader.Opcode, _ payload: [UInt8], to channel: Channel) {
        payload.withUnsafeBytes { write(WebSocketFrameHeader(opcode: opcode, length: $0.count), $0, to: channel) }
    }

    mutating func begin(_ message: WebSocketMessage) {
        let opcode: WebSocketFrameHeader.Opcode
        let payload: Payload
        switch message {
        case .text(let text): (opcode, payload) = (.text, .bytes(Array(text.utf8)))
        case .binary(let data): (opcode, payload) = (.binary, .data(data))
        }
        if let compressed = compressed(payload) {
            self.message = Message(opcode: opcode, isCompressed: true, payload: .bytes(compressed))
        } else {
            self.message = Message(opcode: opcode, isCompressed: false, payload: payload)
        }
    }

    /// The message's next frame.
    mutating func encodeMore(to channel: Channel) {
        guard var message = message.take() else { return }
        let payload = message.payload
        payload.withBytes { bytes in
            let piece = UnsafeRawBufferPointer(rebasing: bytes[message.offset...].prefix(Self.largestFrame))
            let isFirst = message.offset == 0
            let header = WebSocketFrameHeader(
                opcode: isFirst ? message.opcode : .continuation,
                isFinal: message.offset + piece.count == bytes.count,
                isCompressed: isFirst && message.isCompressed,
                length: piece.count
            )
            write(header, piece, to: channel)
            message.offset += piece.count
            if !header.isFinal { self.message = message }
        }
    }

    private mutating func write(
        _ header: WebSocketFrameHeader,
        _ payload: UnsafeRawBufferPointer,
        to channel: Channel
    ) {
        let key = keys.next()
        channel.send(count: WebSocketFrameWriter.size(of: header)) {
            WebSocketFrameWriter.write(header, payload, mask: key, to: $0)
        }
    }

    /// nil where the payload is sent as it is.
    private mutating func compressed(_ payload: Payload) -> [UInt8]? {
        guard mayCompress, let compression, payload.withBytes(\.count) >= Self.leastCompressed else { return nil }
        let deflater =
            deflater ?? MessageDeflater(windowBits: compression.clientWindowBits, forgets: compression.clientForgets)
        self.deflater = deflater
        let compressed = deflater.flatMap { deflater in payload.withBytes { deflater.deflate($0) } }
        // Part of the message may be in the deflater's window, which the server's hasn't got.
        if compressed == nil { (mayCompress, self.deflater) = (false, nil) }
        return compressed
    }
}
