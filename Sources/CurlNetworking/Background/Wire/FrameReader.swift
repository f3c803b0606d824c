import Foundation

/// Cuts what comes out of a socket into messages. A value, tested without sockets.
///
/// A frame is the length of its content, 4 bytes with the most significant first, and the content: a message as JSON. Whoever is at the
/// other end, a frame that is too large ends the connection before anything is kept of it.
struct FrameReader {
    /// In bytes. A request with its body and its credentials has to fit.
    static let maximumLength = 32 << 20
    private static let prefixLength = 4

    struct Oversized: Error, Equatable {
        let length: Int
    }

    private var bytes = Data()

    /// Whether a frame has begun and isn't complete.
    var isAmidFrame: Bool { !bytes.isEmpty }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: new)
    }

    /// The content of the next complete frame; nil where more has to come.
    mutating func next() throws(Oversized) -> Data? {
        guard bytes.count >= Self.prefixLength else { return nil }
        let length = bytes.prefix(Self.prefixLength).reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.maximumLength else { throw Oversized(length: length) }
        guard bytes.count >= Self.prefixLength + length else { return nil }
        let content = Data(bytes.dropFirst(Self.prefixLength).prefix(length))
        bytes = Data(bytes.dropFirst(Self.prefixLength + length))
        return content
    }

    /// `content` as a frame; nil where it is too long for one.
    static func frame(_ content: Data) -> Data? {
        guard content.count <= maximumLength else { return nil }
        var frame = Data(capacity: prefixLength + content.count)
        for shift in [24, 16, 8, 0] { frame.append(UInt8(truncatingIfNeeded: content.count >> shift)) }
        frame.append(content)
        return frame
    }
}
