/// Determines whether a complete member of coded data is followed by another: gzip members and zstd frames may be concatenated.
struct MemberBoundary {
    enum Finding: Equatable {
        /// More bytes are needed to tell.
        case undecided
        /// Another member begins; its magic number ends after this many of the bytes fed last.
        case member(end: Int)
        /// Something else follows.
        case other
    }

    /// For each byte of a magic number: the significant bits, and their values.
    typealias Magic = [(mask: UInt8, value: UInt8)]

    private let magics: [Magic]
    /// The bytes fed so far; after `.member`, the magic number found.
    private(set) var bytes: [UInt8] = []

    /// RFC 1952 §2.3.1.
    static let gzip = MemberBoundary(magics: [[(0xFF, 0x1F), (0xFF, 0x8B)]])
    /// RFC 8878 §3.1.1 and §3.1.2.
    static let zstd = MemberBoundary(magics: [
        [(0xFF, 0x28), (0xFF, 0xB5), (0xFF, 0x2F), (0xFF, 0xFD)],
        [(0xF0, 0x50), (0xFF, 0x2A), (0xFF, 0x4D), (0xFF, 0x18)],
    ])

    private init(magics: [Magic]) {
        self.magics = magics
    }

    /// Must not be called again once it has decided.
    mutating func feed(_ input: UnsafeRawBufferPointer) -> Finding {
        for (index, byte) in input.enumerated() {
            bytes.append(byte)
            let candidates = magics.filter { magic in zip(magic, bytes).allSatisfy { $1 & $0.mask == $0.value } }
            if candidates.isEmpty { return .other }
            if candidates.contains(where: { $0.count == bytes.count }) { return .member(end: index + 1) }
        }
        return .undecided
    }
}
