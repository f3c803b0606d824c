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
        var values: [String: String?] = [:]
        for directive in Self.split(text) {
            guard let (name, value) = Self.directive(directive) else { return nil }
            guard !name.isEmpty else { continue }
            // A repeated directive makes the field invalid.
            guard values.updateValue(value, forKey: name) == nil else { return nil }
        }
        guard case .some(.some(let age)) = values["max-age"], !age.isEmpty, age.utf8.allSatisfy(Self.isDigit) else {
            return nil
        }
        if case .some(.some) = values["includesubdomains"] { return nil }
        // All are digits, so a number that doesn't fit is too large.
        maximumAge = min(Int64(age) ?? .max, Self.longestAge)
        includesSubdomains = values["includesubdomains"] != nil
    }

    /// A hundred years, so that dates stay in the range of the file format.
    private static let longestAge: Int64 = 100 * 366 * 86_400

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Splits at semicolons outside of quoted strings.
    private static func split(_ text: String) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ";", !isQuoted {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return parts + [text[start...]]
    }

    /// The name in lower case, and the value if there is one. An empty name for an empty directive; nil for an invalid one.
    private static func directive(_ text: Substring) -> (name: String, value: String?)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
        guard parts.count == 2 else {
            return parts[0].isEmpty ? ("", nil) : token(parts[0]).map { ($0.lowercased(), nil) }
        }
        guard let name = token(parts[0]), let value = token(parts[1]) ?? unquoted(parts[1]) else { return nil }
        return (name.lowercased(), value)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }

    /// RFC 9110 §5.6.2
    private static func token(_ text: Substring) -> String? {
        let isToken = text.utf8.allSatisfy { byte in
            (0x21...0x7e).contains(byte) && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
        }
        return isToken && !text.isEmpty ? String(text) : nil
    }

    /// RFC 9110 §5.6.4
    private static func unquoted(_ text: Substring) -> String? {
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return nil }
        var value = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if !isEscaped, character == "\\" {
                isEscaped = true
                continue
            }
            guard isEscaped || character != "\"" else { return nil }
            value.append(character)
            isEscaped = false
        }
        return isEscaped ? nil : value
    }
}
