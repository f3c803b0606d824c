/// The value of a `Cookie` field (RFC 6265 §5.4).
enum CookieField {
    /// The program's own cookies as written, except for empty ones at the end, then the stored ones with other names.
    static func merge(_ own: Substring, with stored: String) -> String {
        let names = Set(own.split(separator: ";").map(name))
        var value = own.trimmed
        while value.last == ";" { value = value.dropLast().trimmed }
        let others = stored.split(separator: ";").map(\.trimmed).filter { !names.contains(name($0)) }
        return ((value.isEmpty ? [] : [value]) + others).joined(separator: "; ")
    }

    private static func name(_ pair: Substring) -> Substring {
        pair.prefix { $0 != "=" }.drop { $0 == " " }
    }
}
