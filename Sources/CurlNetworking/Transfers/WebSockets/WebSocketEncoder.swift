import CurlTransport
import Foundation

/// Writes messages and control frames to a channel, masked, and compressed if that was negotiated. Loop only.
struct WebSocketEncoder {
    private var keys = WebSocketMaskingKeys()
    /// nil if nothing may be compressed.
    private let compressor: WebSocketCompressor?
    private var message: Message?

    private struct Message {
        let content: WebSocketMessage
        var isCompressed: Bool
        /// The next byte to encode.
        var offset = 0
        /// Whether its first frame has been written.
        var hasBegun = false

        var opcode: WebSocketFrameHeader.Opcode { hasBegun ? .continuation : content.opcode }
    }

    /// A larger message is split into several frames, with room for control frames between them. In bytes.
    private static let largestFrame = WebSocketSender.largestMessage
    /// How much is compressed at once. In bytes.
    private static let largestPiece = 64 * 1024

    init(_ compressor: WebSocketCompressor?) {
        self.compressor = compressor
    }

    var mayCompress: Bool { compressor != nil }

    /// Whether part of a message has yet to be written.
    var isInMessage: Bool { message != nil }

    mutating func encode(_ opcode: WebSocketFrameHeader.Opcode, _ payload: [UInt8], to channel: Channel) {
        payload.withUnsafeBytes { write(WebSocketFrameHeader(opcode: opcode, length: $0.count), $0, to: channel) }
    }

    mutating func begin(_ message: WebSocketMessage) {
        let isCompressed = compressor?.begin(message.count) ?? false
        self.message = Message(content: message, isCompressed: isCompressed)
    }

    /// Encodes the message's next piece. Returns how much had to be compressed for that, in bytes; nil if the message can't be continued,
    /// because zlib has failed.
    mutating func encodeMore(to channel: Channel) -> Int? {
        guard let message = message.take() else { return 0 }
        return message.content.withPayload { bytes in
            message.isCompressed ? compressMore(message, bytes, to: channel) : writeMore(message, bytes, to: channel)
        }
    }

    private mutating func writeMore(_ message: Message, _ bytes: UnsafeRawBufferPointer, to channel: Channel) -> Int? {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[message.offset...].prefix(Self.largestFrame))
        proceed(message, by: piece.count, of: bytes.count, sending: piece, to: channel)
        return 0
    }

    private mutating func compressMore(
        _ message: Message,
        _ bytes: UnsafeRawBufferPointer,
        to channel: Channel
    ) -> Int? {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[message.offset...].prefix(Self.largestPiece))
        let isLast = message.offset + piece.count == bytes.count
        guard let compressed = compressor?.compress(piece, isLast: isLast) else {
            if message.hasBegun { return nil }
            return writeMore(Message(content: message.content, isCompressed: false), bytes, to: channel)
        }
        compressed.withUnsafeBytes { proceed(message, by: piece.count, of: bytes.count, sending: $0, to: channel) }
        return piece.count
    }

    /// Sends `payload`, which stands for the next `count` of the message's bytes. zlib may have held them back for the next piece.
    private mutating func proceed(
        _ message: Message,
        by count: Int,
        of total: Int,
        sending payload: UnsafeRawBufferPointer,
        to channel: Channel
    ) {
        var message = message
        message.offset += count
        let isFinal = message.offset == total
        if isFinal || !payload.isEmpty {
            let header = WebSocketFrameHeader(
                opcode: message.opcode,
                isFinal: isFinal,
                isCompressed: message.isCompressed && !message.hasBegun,
                length: payload.count
            )
            write(header, payload, to: channel)
            message.hasBegun = true
        }
        if !isFinal { self.message = message }
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
