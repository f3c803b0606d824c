import Foundation

/// Splits the bytes from a socket into messages. A value, tested without sockets.
///
/// A frame is the length of its content, 4 bytes in big-endian order, and the content: a message as JSON. A frame that is too large ends
/// the connection before any of it is kept.
struct FrameReader {
    /// In bytes. A request with its body and its credentials has to fit.
    static let maximumLength = 32 << 20
    private static let prefixLength = 4

    struct Oversized: Error, Equatable {
        let length: Int
    }

    private var bytes = Data()
    /// Where the next frame begins. Earlier bytes are removed when more are added.
    private var start = 0

    /// Whether a frame has begun and isn't complete.
    var isAmidFrame: Bool { start < bytes.count }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        if start > 0 {
            bytes = Data(bytes.dropFirst(start))
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// The content of the next complete frame; nil if more bytes are needed.
    mutating func next() throws(Oversized) -> Data? {
        guard bytes.count - start >= Self.prefixLength else { return nil }
        let content = start + Self.prefixLength
        let length = bytes[start..<content].reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.maximumLength else { throw Oversized(length: length) }
        guard bytes.count - content >= length else { return nil }
        start = content + length
        return Data(bytes[content..<start])
    }

    /// `content` as a frame; nil if it is too long for one.
    static func frame(_ content: Data) -> Data? {
        guard content.count <= maximumLength else { return nil }
        var frame = Data(capacity: prefixLength + content.count)
        for shift in [24, 16, 8, 0] { frame.append(UInt8(truncatingIfNeeded: content.count >> shift)) }
        frame.append(content)
        return frame
    }
}
