import CurlTransport

/// Sends messages on the caller's thread, each in one frame, while a web socket's connection has nothing to send.
///
/// `@unchecked Sendable`: used by one thread at a time, which its exchange ensures.
final class WebSocketSender: @unchecked Sendable {
    private let socket: PlainSocket
    /// nil if nothing may be compressed.
    private let compressor: WebSocketCompressor?
    private var keys = WebSocketMaskingKeys()

    /// In bytes. The connection splits a larger message into several frames.
    static let largestMessage = 256 * 1024

    init(_ socket: PlainSocket, _ compressor: WebSocketCompressor? = nil) {
        (self.socket, self.compressor) = (socket, compressor)
    }

    /// Returns the part of the frame that the system hasn't taken: all of it after a failure, which the connection will also notice.
    func send(_ message: WebSocketMessage) -> [UInt8] {
        message.withPayload { send(message.opcode, $0) }
    }

    private func send(_ opcode: WebSocketFrameHeader.Opcode, _ payload: UnsafeRawBufferPointer) -> [UInt8] {
        guard let compressed = compressor?.compress(payload) else {
            return send(WebSocketFrameHeader(opcode: opcode, length: payload.count), payload)
        }
        let header = WebSocketFrameHeader(opcode: opcode, isCompressed: true, length: compressed.count)
        return compressed.withUnsafeBytes { send(header, $0) }
    }

    private func send(_ header: WebSocketFrameHeader, _ payload: UnsafeRawBufferPointer) -> [UInt8] {
        let key = keys.next()
        return withUnsafeTemporaryAllocation(
            byteCount: WebSocketFrameWriter.size(of: header),
            alignment: MemoryLayout<UInt64>.alignment
        ) { frame in
            WebSocketFrameWriter.write(header, payload, mask: key, to: frame)
            return Array(frame.dropFirst(socket.send(UnsafeRawBufferPointer(frame))))
        }
    }
}
