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
        let bytes = Array(utf8)
        var result: [UInt8] = []
        var position = 0
        for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            result += bytes[position..<edit.range.lowerBound]
            result += edit.replacement.utf8
            position = edit.range.upperBound
        }
        result += bytes[position...]
        return String(decoding: result, as: UTF8.self)
    }

    func text(of range: Range<Int>) -> String {
        String(decoding: utf8[index(range.lowerBound)..<index(range.upperBound)], as: UTF8.self)
    }

    /// The indentation of the line with the byte at `position`.
    func indentation(at position: Int) -> String {
        let line = utf8[index(startOfLine(of: position))...]
        return String(decoding: line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }, as: UTF8.self)
    }

    /// The start of the line with the byte at `position`.
    func startOfLine(of position: Int) -> Int {
        utf8[..<index(position)].lastIndex(of: UInt8(ascii: "\n")).map { utf8.distance(from: startIndex, to: $0) + 1 }
            ?? 0
    }

    /// The start of the line after the one with the byte at `position`.
    func startOfNextLine(after position: Int) -> Int {
        utf8[index(position)...].firstIndex(of: UInt8(ascii: "\n")).map { utf8.distance(from: startIndex, to: $0) + 1 }
            ?? utf8.count
    }

    /// The line break that the text uses.
    var lineBreak: String { utf8.contains(UInt8(ascii: "\r")) ? "\r\n" : "\n" }

    private func index(_ position: Int) -> Index { utf8.index(startIndex, offsetBy: position) }
}
