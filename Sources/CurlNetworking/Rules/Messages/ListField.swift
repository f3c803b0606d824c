import Foundation

/// A field whose value is a comma-separated list (RFC 9110 §5.6.1).
enum ListField {
    /// The elements; commas in quotes don't separate. nil for more than `maximumElements`, and for unterminated quotes.
    static func elements(of field: String) -> [Substring]? {
        let mayBeSeveral = field.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }
        guard mayBeSeveral else { return [field[...]] }
        var (isQuoted, isEscaped) = (false, false)
        let elements = field.utf8.split(maxSplits: maximumElements) { byte in
            // In quotes, a backslash escapes the next byte (§5.6.4).
            if isEscaped {
                isEscaped = false
                return false
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = isQuoted
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ","): return !isQuoted
            default: break
            }
            return false
        }
        return isQuoted || elements.count > maximumElements ? nil : elements.map { Substring($0) }
    }

    /// Of any list. Only a hostile server sends more, and lists are read on the event loop, a stored response's at each look-up.
    static let maximumElements = 100

    /// The names in a comma-separated list, in lower case; none for nil. nil if `elements` is nil.
    static func names(in field: String?) -> [String]? {
        guard let field else { return [] }
        return elements(of: field)?.map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }
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
