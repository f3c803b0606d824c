import Foundation

/// Pieces of a body waiting to be decoded.
struct CodedInput {
    private var pieces = Fifo<Data>()
    /// In bytes.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Appends a copy of `bytes`.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        pieces.append(Data(bytes))
        count += bytes.count
    }

    /// The first piece; empty if there is none.
    var first: Data { pieces.first ?? Data() }

    /// Drops `count` bytes of the first piece, which have been decoded.
    mutating func drop(_ count: Int) {
        guard count > 0, let piece = pieces.popFirst() else { return }
        let rest = piece.dropFirst(count)
        self.count -= piece.count - rest.count
        if !rest.isEmpty { pieces.prepend(contentsOf: CollectionOfOne(rest)) }
    }
}
