/// A `Strict-Transport-Security` field (RFC 6797 §6.1).
struct TransportSecurityField: Equatable, Sendable {
    /// In seconds. 0 ends the policy.
    var maximumAge: Int64
    var includesSubdomains: Bool

    init(maximumAge: Int64, includesSubdomains: Bool) {
        self.maximumAge = maximumAge
        self.includesSubdomains = includesSubdomains
    }

    /// nil for an invalid field, which is ignored. Unknown directives are skipped.
    init?(_ text: String) {
        guard let directives = FieldSyntax.split(text[...], at: ";") else { return nil }
        var values: [String: String?] = [:]
        for directive in directives {
            guard let (name, value) = Self.directive(directive) else { return nil }
            guard !name.isEmpty else { continue }
            // A repeated directive makes the field invalid.
            guard values.updateValue(value, forKey: name) == nil else { return nil }
        }
        guard case .some(.some(let age)) = values["max-age"], !age.isEmpty, age.utf8.allSatisfy(\.isASCIIDigit) else {
            return nil
        }
        if case .some(.some) = values["includesubdomains"] { return nil }
        // All are digits, so a number that doesn't fit is too large.
        maximumAge = min(Int64(age) ?? .max, Self.longestAge)
        includesSubdomains = values["includesubdomains"] != nil
    }

    /// A hundred years, so that dates stay in the range of the file format.
    private static let longestAge: Int64 = 100 * 366 * 86_400

    /// The name in lower case, and the value if there is one. An empty name for an empty directive; nil for an invalid one.
    private static func directive(_ text: Substring) -> (name: String, value: String?)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
        if parts == [""] { return ("", nil) }
        guard FieldSyntax.isToken(parts[0]) else { return nil }
        let name = parts[0].lowercased()
        guard parts.count == 2 else { return (name, nil) }
        let value = FieldSyntax.isToken(parts[1]) ? String(parts[1]) : FieldSyntax.unquoted(parts[1])
        return value.map { (name, $0) }
    }
}
