import Foundation

extension URL {
    /// What a server's `reference` (RFC 3986 §4.1) names, as seen from `base`. Characters that URLs can't have are percent-encoded, and
    /// nothing else is: Foundation would encode the percent signs beside them, too. nil if it isn't one.
    init?(reference: String, relativeTo base: URL) {
        let isValid = URL(string: reference, encodingInvalidCharacters: false) != nil
        guard let url = URL(string: isValid ? reference : Self.encoded(reference), relativeTo: base) else { return nil }
        self = url.absoluteURL
    }

    private static func encoded(_ reference: String) -> String {
        let bytes = Array(reference.utf8)
        let start = lengthOfSchemeAndAuthority(bytes)
        var encoded = bytes[..<start]
        var isInFragment = false
        for (index, byte) in bytes.enumerated().dropFirst(start) {
            let isEscape = byte == UInt8(ascii: "%") && bytes[(index + 1)...].prefix(2).count(where: \.isHexDigit) == 2
            let beginsFragment = byte == UInt8(ascii: "#") && !isInFragment
            if beginsFragment { isInFragment = true }
            if isEscape || beginsFragment || isValid(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 15)]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The host may be a name in Unicode.
    private static func lengthOfSchemeAndAuthority(_ bytes: [UInt8]) -> Int {
        let delimiter = bytes.firstIndex { "/?#:".utf8.contains($0) }
        let start = delimiter.map { bytes[$0] == UInt8(ascii: ":") ? $0 + 1 : 0 } ?? 0
        guard bytes[start...].starts(with: "//".utf8) else { return start }
        return bytes[(start + 2)...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    }

    /// Whether a path, query and fragment may have it.
    private static func isValid(_ byte: UInt8) -> Bool {
        let character = Character(Unicode.Scalar(byte))
        return byte < 0x80 && (character.isLetter || character.isNumber || "-._~!$&'()*+,;=:@/?".contains(character))
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { Character(Unicode.Scalar(self)).isHexDigit }
}
