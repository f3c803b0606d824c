/// Checks text that arrives in pieces: whether it is UTF-8 so far (RFC 3629 §4).
struct UTF8Validator: Equatable {
    /// How many bytes the current character still needs, and the range of the next one.
    private var missing = 0
    private var next = UTF8LeadByte.later

    /// Whether no character is cut off.
    var isComplete: Bool { missing == 0 }

    /// Returns false if it isn't UTF-8, whatever follows.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                index = Self.endOfASCII(in: bytes, from: index)
                guard index < bytes.count else { return true }
                guard let lead = UTF8LeadByte(bytes[index]) else { return false }
                (missing, next) = (lead.followers, lead.second)
            } else {
                guard next.contains(bytes[index]) else { return false }
                missing -= 1
                next = UTF8LeadByte.later
            }
            index += 1
        }
        return true
    }

    private static func endOfASCII(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while index + 8 <= bytes.count,
            bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
            index += 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index += 1 }
        return index
    }
}
