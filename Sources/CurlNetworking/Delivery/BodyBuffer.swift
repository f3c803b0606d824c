import Foundation

/// Body bytes waiting for their consumer, in the pieces it will get. Bounded: the transfer should pause above the high mark and resume at
/// the low mark.
///
/// It holds at most the high mark plus what libcurl delivers before it returns to the loop; see `ReceiveBuffer`. Decoded bytes arrive in
/// smaller pieces, and none above the mark.
struct BodyBuffer {
    /// In bytes.
    static let highMark = 256 * 1024
    static let lowMark = 64 * 1024

    /// In bytes. A waiting piece grows up to this size, so that a consumer that falls behind gets fewer, larger ones.
    private static let pieceSize = 64 * 1024

    private var pieces = Fifo<Data>()
    /// How many more bytes the last piece can take without being reallocated.
    private var room = 0
    /// Whether the next piece is a part's first. There may be thousands of tiny parts, so it is no larger than its bytes.
    private var isAtPart = false
    /// Bytes appended and not yet consumed, including those the consumer is working on.
    private(set) var waitingBytes = 0
    /// Whether the high mark was passed, and the low mark hasn't been reached since.
    private(set) var isAboveHighMark = false

    var isEmpty: Bool { pieces.isEmpty }

    /// Copies `bytes` in. `expected` is the total still to come, these included, if known: the piece is sized for it. Returns true if the
    /// high mark has just been passed.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> Bool {
        guard !bytes.isEmpty else { return false }
        if bytes.count <= room {
            pieces.updateLast { $0.append(bytes) }
            room -= bytes.count
        } else {
            // A consumer that keeps up gets pieces of the right size; for one that is behind, small ones are merged.
            let wanted = isAtPart ? 0 : pieces.isEmpty ? expected ?? 0 : Int64(Self.pieceSize)
            isAtPart = false
            let capacity = max(bytes.count, Int(min(max(0, wanted), Int64(Self.pieceSize))))
            pieces.append(Data(bytes, capacity: capacity))
            room = capacity - bytes.count
        }
        return wait(for: bytes.count)
    }

    /// Makes the next append start a new piece, preceded by something that counts as `cost` bytes until it is `consumed`. Returns true if
    /// the high mark has just been passed.
    mutating func endPiece(cost: Int) -> Bool {
        room = 0
        isAtPart = true
        return wait(for: cost)
    }

    private mutating func wait(for count: Int) -> Bool {
        waitingBytes += count
        guard !isAboveHighMark, waitingBytes > Self.highMark else { return false }
        isAboveHighMark = true
        return true
    }

    /// The next piece. Its bytes count until the consumer reports them with `consumed`.
    mutating func popFirst() -> Data? {
        guard let piece = pieces.popFirst() else { return nil }
        if pieces.isEmpty { room = 0 }
        return piece
    }

    /// Returns true if the low mark has just been reached.
    mutating func consumed(_ count: Int) -> Bool {
        waitingBytes = max(0, waitingBytes - count)
        guard isAboveHighMark, waitingBytes <= Self.lowMark else { return false }
        isAboveHighMark = false
        return true
    }

    /// Drops all waiting bytes.
    mutating func removeAll() {
        self = BodyBuffer()
    }
}

extension Data {
    /// With room for `capacity` bytes. Most bodies fit exactly, and are copied in one step.
    fileprivate init(_ bytes: UnsafeRawBufferPointer, capacity: Int) {
        guard capacity > bytes.count else {
            self.init(bytes)
            return
        }
        self.init(capacity: capacity)
        append(contentsOf: bytes)
    }

    fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer) {
        append(contentsOf: bytes)
    }
}
