/// Decodes one coding. One thread at a time.
protocol DecodingStage: AnyObject {
    /// Decodes from the start of `input` into `output`, which has room for at least 64 bytes, and tells how many bytes of each it used.
    /// It stops at the end of either. What follows the end of the coded data is taken and dropped, as gzip(1) and browsers do. `input` may
    /// be empty: then it only hands over what it had no room for.
    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int)

    /// The coded data may end here.
    var isComplete: Bool { get }
}

/// What a library says of data that it can't decode.
struct DecodingFailure: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    init(_ text: UnsafePointer<CChar>?, default other: String) {
        self.text = text.map { String(cString: $0) } ?? other
    }
}

/// Finds out whether what follows a complete member of coded data is another one: gzip files and zstd frames may be put one after the other.
struct MemberBoundary {
    enum Finding { case undecided, member, other }

    /// Each byte of a magic number: which bits count, and what they are.
    typealias Magic = [(mask: UInt8, value: UInt8)]

    private let magics: [Magic]
    /// Not yet decided on, or the magic number that was found.
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

    /// Nothing is to be asked after it has decided.
    mutating func take(_ byte: UInt8) -> Finding {
        bytes.append(byte)
        let candidates = magics.filter { magic in zip(magic, bytes).allSatisfy { $1 & $0.mask == $0.value } }
        if candidates.isEmpty { return .other }
        return candidates.contains { $0.count == bytes.count } ? .member : .undecided
    }
}
