/// The value of a `Cookie` field (RFC 6265 §5.4).
package enum CookieField {
    /// The program's own cookies as written, except for empty ones at the end, then the stored ones with other names.
    static func merge(_ own: Substring, with stored: String) -> String {
        let names = Set(pairs(of: own).map(exactName))
        var value = own.trimmed
        while value.utf8.last == UInt8(ascii: ";") { value = Substring(value.utf8.dropLast()).trimmed }
        let others = pairs(of: stored[...]).filter { !names.contains(exactName($0)) }
        return ((value.isEmpty ? [] : [value]) + others).joined(separator: "; ")
    }

    /// Bytes separate them, as servers see it: to Swift, "=" and an accent after it are one character.
    package static func pairs(of field: Substring) -> [Substring] {
        field.utf8.split(separator: UInt8(ascii: ";")).map { Substring($0).trimmed }
    }

    private static func exactName(_ pair: Substring) -> ExactText { ExactText(String(name(pair))) }

    package static func name(_ pair: Substring) -> Substring {
        Substring(pair.utf8.prefix { $0 != UInt8(ascii: "=") })
    }
}
