import Foundation

// Reading raw bytes, with memchr and strncasecmp where possible.

extension UInt8 {
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
    static let space: UInt8 = 0x20
    static let tab: UInt8 = 0x09
    static let colon: UInt8 = 0x3A
    static let comma: UInt8 = 0x2C
    static let semicolon: UInt8 = 0x3B
    static let zero: UInt8 = 0x30

    var isBlank: Bool { self == .space || self == .tab }

    /// The value of an ASCII digit.
    var digit: UInt8? {
        let value = self &- .zero
        return value < 10 ? value : nil
    }

    var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension UnsafeRawBufferPointer {
    /// A part, counted from 0.
    func part(_ range: some RangeExpression<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range.relative(to: self)])
    }

    func index(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    /// What comes before and after the first such byte.
    func divided(at byte: UInt8) -> (before: UnsafeRawBufferPointer, behind: UnsafeRawBufferPointer)? {
        guard let index = index(of: byte) else { return nil }
        return (part(..<index), part((index + 1)...))
    }

    /// Without the white space around it.
    var trimmed: UnsafeRawBufferPointer {
        var (start, end) = (0, count)
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        return part(start..<end)
    }

    /// Whether it's visible ASCII, at least one character of it, without a colon: a method or a field name.
    var isToken: Bool {
        for byte in self where byte <= .space || byte >= 0x7F || byte == .colon { return false }
        return !isEmpty
    }

    /// Whether it's this text, ignoring the case of ASCII letters.
    func isSame(as text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        guard let baseAddress else { return true }
        return strncasecmp(baseAddress.assumingMemoryBound(to: CChar.self), text, count) == 0
    }

    /// Whether it's a comma-separated list that contains this option.
    func hasOption(_ option: String) -> Bool {
        var rest = self
        while let (item, following) = rest.divided(at: .comma) {
            if item.trimmed.isSame(as: option) { return true }
            rest = following
        }
        return rest.trimmed.isSame(as: option)
    }

    /// A decimal number of up to 18 digits, which always fit.
    var length: Int64? {
        guard (1...18).contains(count) else { return nil }
        var length: Int64 = 0
        for byte in self {
            guard let digit = byte.digit else { return nil }
            length = length * 10 + Int64(digit)
        }
        return length
    }

    /// As UTF-8; what isn't becomes U+FFFD.
    var string: String { String(decoding: self, as: UTF8.self) }

    /// A copy.
    var data: Data { baseAddress.map { Data(bytes: $0, count: count) } ?? Data() }

    /// Removes the first line, and returns it without its LF or CRLF. Nil if there is no line end.
    mutating func takeLine() -> UnsafeRawBufferPointer? {
        guard let (line, rest) = divided(at: .lineFeed) else { return nil }
        self = rest
        return line.last == .carriageReturn ? line.part(..<(line.count - 1)) : line
    }

    /// Splits a field line into its name and its value. Doesn't understand obsolete line folding.
    func field() throws(Rejection) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard let (name, behind) = divided(at: .colon) else { throw .malformed("A field line without a colon") }
        guard name.isToken else { throw .malformed("A field name isn't a token") }
        guard behind.index(of: 0) == nil, behind.index(of: .carriageReturn) == nil else {
            throw .malformed("A field value holds NUL or CR")
        }
        return (name, behind.trimmed)
    }
}

/// Whether two field names are the same, ignoring the case of ASCII letters (RFC 9110, section 5.1).
func isSameName(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && strcasecmp(one, other) == 0
}
