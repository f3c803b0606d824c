/// Checks text that arrives in pieces: whether it is UTF-8 so far (RFC 3629 §4).
struct UTF8Validator: Equatable {
    /// How many bytes the current character still needs, and the range of the next one.
    private var missing = 0
    private var next: ClosedRange<UInt8> = 0x80...0xBF

    /// Whether no character is cut off.
    var isComplete: Bool { missing == 0 }

    /// Returns false if it isn't UTF-8, whatever follows.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                index = Self.endOfASCII(in: bytes, from: index)
                guard index < bytes.count else { return true }
                guard begin(with: bytes[index]) else { return false }
            } else {
                guard next.contains(bytes[index]) else { return false }
                missing -= 1
                next = 0x80...0xBF
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

    /// Rejects overlong forms, surrogates, and code points beyond U+10FFFF.
    private mutating func begin(with byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: (missing, next) = (1, 0x80...0xBF)
        case 0xE0: (missing, next) = (2, 0xA0...0xBF)
        case 0xED: (missing, next) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (missing, next) = (2, 0x80...0xBF)
        case 0xF0: (missing, next) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (missing, next) = (3, 0x80...0xBF)
        case 0xF4: (missing, next) = (3, 0x80...0x8F)
        default: return false
        }
        return true
    }
}
