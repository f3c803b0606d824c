import CurlTransport
import Foundation

/// Writes messages and control frames to a channel, masked, and compressed if that was negotiated. Loop only.
struct WebSocketEncoder {
    private var keys = WebSocketMaskingKeys()
    /// nil if nothing may be compressed.
    private let compressor: WebSocketCompressor?
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

    /// A larger message is split into several frames, with room for control frames between them. In bytes.
    private static let largestFrame = 256 * 1024

    init(_ compressor: WebSocketCompressor?) {
        self.compressor = compressor
    }

    /// Part of a message has yet to be written.
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
        if let compressed = payload.withBytes({ compressor?.compress($0) }) {
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
}
