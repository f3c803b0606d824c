import Foundation

extension String {
    /// In quotation marks, and with a backslash before each quotation mark and backslash. Escaped literally: to Swift, a quotation mark and
    /// an accent after it are one other character.
    var quoted: String {
        let escaped = replacingOccurrences(of: #"\"#, with: #"\\"#, options: .literal)
            .replacingOccurrences(of: "\"", with: #"\""#, options: .literal)
        return "\"\(escaped)\""
    }
}
