import Foundation

extension String {
    /// Without control and formatting characters: text from the network must not control the terminal, nor reverse the text around it.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: " "
                    case .format, .surrogate, .privateUse, .unassigned: "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }

    /// As one word of a shell's command line, in quotes where it needs them.
    var shellWord: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "/._-+,:@%".utf8.contains(byte)
                }
            }
        // Literally: to Swift, a quotation mark and an accent after it are one character.
        return isPlain ? self : "'" + replacingOccurrences(of: "'", with: #"'\''"#, options: .literal) + "'"
    }

    /// How many columns it takes.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Exactly this many columns: truncated with an ellipsis, or padded with spaces.
    func fitted(to columns: Int) -> String {
        guard columns > 0 else { return "" }
        var used = 0
        var result = ""
        for character in self {
            // The last column is for the ellipsis, unless this is the end.
            if used + character.columns > columns - 1 {
                if self.columns <= columns { return self + String(repeating: " ", count: columns - self.columns) }
                return result + "…" + String(repeating: " ", count: columns - 1 - used)
            }
            result.append(character)
            used += character.columns
        }
        return result + String(repeating: " ", count: columns - used)
    }

    /// As much of its end as fits.
    func end(fittingIn columns: Int) -> Substring {
        var room = columns
        let start = indices.reversed().prefix { index in
            room -= self[index].columns
            return room >= 0
        }.last
        return self[(start ?? endIndex)...]
    }

    /// This many columns, right-aligned.
    func fittedRight(to columns: Int) -> String {
        let missing = columns - self.columns
        return missing > 0 ? String(repeating: " ", count: missing) + self : self
    }
}

extension Character {
    /// Two for East Asian scripts and emoji, one for everything else that is visible.
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        if first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default:
            switch first.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .control, .format: return 0
            default: return 1
            }
        }
    }
}

/// Byte counts in human-readable form.
enum ByteCount {
    /// For example `3.5 MB`.
    static func short(_ bytes: Int64) -> String {
        let units = ["kB", "MB", "GB", "TB"]
        guard bytes >= 1000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = "B"
        for next in units where value >= 999.5 {
            value /= 1000
            unit = next
        }
        let tenths = Int((value * 10).rounded())
        return value >= 99.95 ? "\(Int(value.rounded())) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// For example `3,528,044`.
    static func exact(_ bytes: Int64) -> String {
        let digits = Array(String(bytes.magnitude))
        let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max(0, $0 - 3)..<$0]) }
        return (bytes < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }
}
