import Foundation

extension URL {
    /// Resolves a server's `reference` (RFC 3986 §4.1) against `base`. Only characters that URLs can't have are percent-encoded: Foundation
    /// would encode the percent signs beside them, too. nil if it isn't a reference.
    init?(reference: String, relativeTo base: URL) {
        let isValid = URL(string: reference, encodingInvalidCharacters: false) != nil
        guard let url = URL(string: isValid ? reference : Self.encoded(reference), relativeTo: base) else { return nil }
        self = url.absoluteURL
    }

    private static func encoded(_ reference: String) -> String {
        let start = endOfAuthority(in: reference)
        let fragment = reference.utf8[start...].firstIndex(of: UInt8(ascii: "#")) ?? reference.endIndex
        let encoded = reference[..<start] + encoded(reference[start..<fragment])
        return encoded + (fragment < reference.endIndex ? "#" + Self.encoded(reference[fragment...].dropFirst()) : "")
    }

    /// Characters of paths, queries and fragments, and percent signs.
    private static let allowed = CharacterSet.urlQueryAllowed.union(["%"])

    private static func encoded(_ part: Substring) -> String {
        withoutStrayPercents(part).addingPercentEncoding(withAllowedCharacters: allowed) ?? String(part)
    }

    /// With "%25" for percent signs not followed by two hexadecimal digits.
    private static func withoutStrayPercents(_ part: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = part.utf8
        while let byte = rest.popFirst() {
            bytes.append(byte)
            var following = rest
            if byte == UInt8(ascii: "%"), following.popEscape() == nil { bytes += "25".utf8 }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The host may be a name in Unicode.
    private static func endOfAuthority(in reference: String) -> String.Index {
        let bytes = reference.utf8
        let delimiter = bytes.firstIndex { "/?#:".utf8.contains($0) }
        let hasScheme = delimiter.map { bytes[$0] == UInt8(ascii: ":") } ?? false
        let rest = hasScheme ? bytes[(delimiter ?? bytes.endIndex)...].dropFirst() : bytes[...]
        guard rest.starts(with: "//".utf8) else { return rest.startIndex }
        return rest.dropFirst(2).firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    }
}
