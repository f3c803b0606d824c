enum Key: Equatable {
    case character(Character)
    /// With the control key; the letter in lower case.
    case control(Character)
    case enter, escape, backspace
    case up, down, pageUp, pageDown, home, end
}

/// Parses the bytes that a terminal in raw mode sends into keys.
struct KeyParser {
    /// The start of an incomplete key.
    private var pending: [UInt8] = []

    /// - Parameter bytes: The result of one read: an escape character followed by nothing is the Escape key.
    mutating func keys(in bytes: some Sequence<UInt8>) -> [Key] {
        var rest = (pending + bytes)[...]
        pending = []
        var keys: [Key] = []
        while let first = rest.first {
            if first == 0x1B {
                guard let key = sequence(&rest) else { break }
                keys += key
            } else if first < 0x80 {
                rest.removeFirst()
                keys.append(Self.key(first))
            } else {
                guard let character = Self.character(&rest) else { break }
                keys.append(.character(character))
            }
        }
        pending = Array(rest)
        return keys
    }

    private static func key(_ byte: UInt8) -> Key {
        switch byte {
        case 0x0A, 0x0D: .enter
        case 0x08, 0x7F: .backspace
        case 0..<0x20: .control(Character(Unicode.Scalar(byte + 0x60)))
        default: .character(Character(Unicode.Scalar(byte)))
        }
    }

    /// nil if the character's other bytes are still to come. Invalid bytes become U+FFFD.
    private static func character(_ rest: inout ArraySlice<UInt8>) -> Character? {
        let first = rest[rest.startIndex]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
        guard rest.count >= length else { return nil }
        defer { rest.removeFirst(length) }
        return String(decoding: rest.prefix(length), as: UTF8.self).first ?? "\u{FFFD}"
    }

    /// Removes an escape sequence; nil if it is incomplete. Unknown sequences yield no key.
    private func sequence(_ rest: inout ArraySlice<UInt8>) -> [Key]? {
        let bytes = Array(rest)
        guard bytes.count > 1, bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else {
            rest.removeFirst()
            return [.escape]
        }
        guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else { return nil }
        rest.removeFirst(end + 1)
        let parameters = String(decoding: bytes[2..<end], as: UTF8.self)
        switch (bytes[end], parameters) {
        case (UInt8(ascii: "A"), _): return [.up]
        case (UInt8(ascii: "B"), _): return [.down]
        case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return [.home]
        case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return [.end]
        case (UInt8(ascii: "~"), "5"): return [.pageUp]
        case (UInt8(ascii: "~"), "6"): return [.pageDown]
        default: return []
        }
    }
}
