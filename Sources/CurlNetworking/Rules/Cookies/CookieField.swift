/// The value of a `Cookie` field (RFC 6265 §5.4).
enum CookieField {
    /// The program's own cookies, then the stored ones with other names.
    static func merge(_ own: String, with stored: String) -> String {
        let names = Set(own.split(separator: ";").map(name))
        var value = own
        for pair in stored.split(separator: ";") where !names.contains(name(pair)) {
            value += ";" + (pair.hasPrefix(" ") ? "" : " ") + pair
        }
        return value
    }

    private static func name(_ pair: Substring) -> Substring {
        pair.prefix { $0 != "=" }.drop { $0 == " " }
    }
}
