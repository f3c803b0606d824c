/// A replacement of a range of a text's bytes.
struct Edit: Equatable {
    let range: Range<Int>
    let replacement: String

    init(_ range: Range<Int>, _ replacement: String) {
        self.range = range
        self.replacement = replacement
    }

    init(insertingAt position: Int, _ text: String) {
        self.init(position..<position, text)
    }
}

extension String {
    /// The text with all `edits` applied, which must not overlap.
    func applying(_ edits: [Edit]) -> String {
        var bytes = Array(utf8)
        for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            bytes.replaceSubrange(edit.range, with: Array(edit.replacement.utf8))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func text(of range: Range<Int>) -> String {
        String(decoding: Array(utf8)[range], as: UTF8.self)
    }

    /// The indentation of the line with the byte at `position`.
    func indentation(at position: Int) -> String {
        let line = Array(utf8)[startOfLine(of: position)...]
        let blanks = line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return String(decoding: blanks, as: UTF8.self)
    }

    /// The start of the line with the byte at `position`.
    func startOfLine(of position: Int) -> Int {
        Array(utf8)[..<position].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    }

    /// The start of the line after the one with the byte at `position`.
    func startOfNextLine(after position: Int) -> Int {
        let bytes = Array(utf8)
        return bytes[position...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
    }

    /// The line break that the text uses.
    var lineBreak: String { utf8.contains(UInt8(ascii: "\r")) ? "\r\n" : "\n" }
}
