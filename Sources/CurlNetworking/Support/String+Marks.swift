extension String {
    /// How many marks, such as accents, may follow each other. No language comes near this number (UAX #15, section 13).
    private static let maximumMarks = 30

    /// Whether more marks follow each other than in any text that is meant to be read. Swift puts them in order whenever it compares or hashes
    /// the text, or a character of it, which takes time that is quadratic in their number.
    var hasTooManyMarks: Bool {
        var count = 0
        return unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .spacingMark, .enclosingMark: count += 1
            default: count = 0
            }
            return count > Self.maximumMarks
        }
    }
}
