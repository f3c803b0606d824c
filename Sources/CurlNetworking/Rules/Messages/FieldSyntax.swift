/// What the values of fields consist of (RFC 9110 §5.6).
enum FieldSyntax {
    /// §5.6.2.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// The content of a quoted string (§5.6.4), the opposite of `String.quoted`; nil if `text` isn't one.
    static func unquoted(_ text: Substring) -> String? {
        guard text.utf8.count >= 2, text.utf8.first == quote, text.utf8.last == quote else { return nil }
        var content: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8.dropFirst().dropLast() {
            if !isEscaped, byte == backslash {
                isEscaped = true
                continue
            }
            guard isEscaped || byte != quote else { return nil }
            content.append(byte)
            isEscaped = false
        }
        return isEscaped ? nil : String(decoding: content, as: UTF8.self)
    }

    /// Splits at each `separator` that isn't in a quoted string, and leaves out empty parts. nil if a quoted string has no end.
    static func split(_ text: Substring, at separator: Unicode.Scalar, maxSplits: Int = .max) -> [Substring]? {
        let separator = UInt8(ascii: separator)
        var (isQuoted, isEscaped) = (false, false)
        let parts = text.utf8.split(maxSplits: maxSplits) { byte in
            if isEscaped {
                isEscaped = false
                return false
            }
            switch byte {
            case backslash: isEscaped = isQuoted
            case quote: isQuoted.toggle()
            case separator: return !isQuoted
            default: break
            }
            return false
        }
        return isQuoted ? nil : parts.map { Substring($0) }
    }

    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
}

extension Substring {
    /// Without leading and trailing spaces and tabs (RFC 9110 §5.6.3).
    var trimmed: Substring {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = utf8.firstIndex(where: { !isSpace($0) }), let last = utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return self[first...last]
    }
}
