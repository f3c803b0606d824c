import CurlTransport

/// Compresses a web socket's messages, in order: each may refer to those before it (RFC 7692 §7.2.1).
///
/// `@unchecked Sendable`: used only by the holder of the exchange's line.
final class WebSocketCompressor: @unchecked Sendable {
    private let compression: WebSocketCompression
    /// nil until the first message to compress, and after zlib has failed.
    private var deflater: MessageDeflater?
    private var mayCompress: Bool

    /// Smaller messages gain nothing. In bytes.
    private static let minimumCompressed = 64

    init(_ compression: WebSocketCompression) {
        self.compression = compression
        mayCompress = compression.canCompress
    }

    /// nil if the payload is to be sent as it is.
    func compress(_ payload: UnsafeRawBufferPointer) -> [UInt8]? {
        begin(payload.count) ? compress(payload, isLast: true) : nil
    }

    /// Begins a message of `count` bytes. Returns false if it is to be sent as it is.
    func begin(_ count: Int) -> Bool {
        guard mayCompress, count >= Self.minimumCompressed else { return false }
        deflater =
            deflater ?? MessageDeflater(windowBits: compression.clientWindowBits, forgets: compression.clientForgets)
        mayCompress = deflater != nil
        return mayCompress
    }

    /// Compresses the next piece of the current message: see `MessageDeflater`. If zlib fails, this and all later messages can only be sent
    /// as they are.
    func compress(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> [UInt8]? {
        let compressed = deflater?.deflate(piece, isLast: isLast)
        // Part of the message may be in the deflater's window, but not in the server's.
        if compressed == nil { (mayCompress, deflater) = (false, nil) }
        return compressed
    }
}
