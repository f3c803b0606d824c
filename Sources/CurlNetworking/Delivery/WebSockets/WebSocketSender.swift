import CurlTransport

/// Sends messages on the thread of whoever calls, each in one frame, while a web socket's connection has nothing to send.
///
/// `@unchecked Sendable`: it is used by one thread at a time, which its exchange sees to.
final class WebSocketSender: @unchecked Sendable {
    private let socket: PlainSocket
    /// nil where nothing may be compressed.
    private let compressor: WebSocketCompressor?
    private var keys = WebSocketMaskingKeys()

    /// In bytes. A larger message goes in several frames, which is the connection's business.
    static let largestMessage = 256 * 1024

    init(_ socket: PlainSocket, _ compressor: WebSocketCompressor? = nil) {
        (self.socket, self.compressor) = (socket, compressor)
    }

    /// Returns what the system hasn't taken of the frame: all of it after a failure, which the connection will find as well.
    func send(_ message: WebSocketMessage) -> [UInt8] {
        switch message {
        case .text(var text): text.withUTF8 { send(.text, UnsafeRawBufferPointer($0)) }
        case .binary(let data): data.withUnsafeBytes { send(.binary, $0) }
        }
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
