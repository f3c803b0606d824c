import Foundation

/// Body bytes that wait for their consumer, in the pieces it will get. Bounded: above the high mark the transfer
/// should pause, at the low mark continue.
///
/// It holds at most the high mark plus what libcurl delivers before it returns to the loop: up to 101 receive buffers of 16 KiB.
/// Decoded bytes come in smaller pieces, and none come above the mark.
struct BodyBuffer {
    /// In bytes.
    static let highMark = 256 * 1024
    static let lowMark = 64 * 1024

    /// A piece grows up to this size while it waits, so that a consumer that falls behind gets fewer and larger ones.
    private static let pieceSize = 64 * 1024

    private var pieces = Fifo<Data>()
    /// How many more bytes fit into the last piece without moving it.
    private var room = 0
    /// Bytes that were appended and not yet consumed, including those that the consumer is working on.
    private(set) var waitingBytes = 0
    /// The high mark was passed, and the low one not reached again.
    private(set) var isAboveHighMark = false

    var isEmpty: Bool { pieces.isEmpty }

    /// Copies `bytes` in. `expected` is how many will come in all from here on, if that is known: the piece is made to
    /// fit. True when the high mark has just been passed.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> Bool {
        guard !bytes.isEmpty else { return false }
        if bytes.count <= room {
            pieces.updateLast { $0.append(bytes) }
            room -= bytes.count
        } else {
            // A consumer that keeps up gets pieces made to fit; for one that is behind, small ones are gathered.
            let wanted = pieces.isEmpty ? expected ?? 0 : Int64(Self.pieceSize)
            let capacity = max(bytes.count, Int(min(max(0, wanted), Int64(Self.pieceSize))))
            var piece = Data(capacity: capacity)
            piece.append(bytes)
            pieces.append(piece)
            room = capacity - bytes.count
        }
        return wait(for: bytes.count)
    }

    /// What is appended next begins another piece, and has something wait ahead of it that counts as `cost` bytes, until it's `consumed`.
    /// True when the high mark has just been passed.
    mutating func endPiece(cost: Int) -> Bool {
        room = 0
        return wait(for: cost)
    }

    private mutating func wait(for count: Int) -> Bool {
        waitingBytes += count
        guard !isAboveHighMark, waitingBytes > Self.highMark else { return false }
        isAboveHighMark = true
        return true
    }

    /// The next piece. Its bytes count until `consumed` tells that the consumer is done with them.
    mutating func popFirst() -> Data? {
        guard let piece = pieces.popFirst() else { return nil }
        if pieces.isEmpty { room = 0 }
        return piece
    }

    /// True when the low mark has just been reached again.
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
    fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer) {
        append(contentsOf: bytes)
    }
}
