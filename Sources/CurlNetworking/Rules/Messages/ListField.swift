import Foundation

/// A field whose value is a comma-separated list (RFC 9110 §5.6.1).
enum ListField {
    /// The elements; commas in quotes don't separate. nil for more than `maximumElements`, and for unterminated quotes.
    static func elements(of field: String) -> [Substring]? {
        let mayBeSeveral = field.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }
        guard mayBeSeveral else { return [field[...]] }
        let elements = FieldSyntax.split(field[...], at: ",", maxSplits: maximumElements)
        return elements.flatMap { $0.count > maximumElements ? nil : $0 }
    }

    /// Of any list. Only a hostile server sends more, and lists are read on the event loop, a stored response's at each look-up.
    static let maximumElements = 100

    /// The names in a comma-separated list, in lower case; none for nil. nil if `elements` is nil.
    static func names(in field: String?) -> [String]? {
        guard let field else { return [] }
        return elements(of: field)?.map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }
}
