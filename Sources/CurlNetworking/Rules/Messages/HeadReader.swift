import Foundation

/// Finds a response's head in bytes as they arrive (RFC 9112 §2.2), on connections where libcurl doesn't, and refuses what libcurl refuses.
struct HeadReader {
    private var parser = HeadParser()
    /// The beginning of a line whose end has yet to come.
    private var line: [UInt8] = []
    private var expected = Expected.statusLine

    /// What the line must be.
    private enum Expected {
        case statusLine
        /// Or the head's end.
        case firstField
        /// Or the continuation of one, or the head's end.
        case field
    }

    /// Of all heads, informational ones included, in bytes.
    private(set) var size = 0

    /// In bytes.
    private static let longestLine = 300 * 1024

    /// Takes bytes until the head is complete; what follows it stays in `input`.
    mutating func consume(_ input: inout UnsafeRawBufferPointer) -> HeadParser.Event {
        while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            let count = input.distance(from: input.startIndex, to: end) + 1
            line.append(contentsOf: input.prefix(count))
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
            let event = consumeLine()
            guard case .incomplete = event else { return event }
        }
        line.append(contentsOf: input)
        input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
        guard isOfResponse else { return .unparsable }
        return line.count > Self.longestLine ? .malformed : .incomplete
    }

    private mutating func consumeLine() -> HeadParser.Event {
        defer { line.removeAll(keepingCapacity: true) }
        size += line.count
        guard isOfResponse else { return .unparsable }
        guard !line.contains(0), advance() else { return .malformed }
        return line.withUnsafeBytes { parser.consume(lines: $0) }
    }

    /// Whether what there is of the line may be a response's. A peer that doesn't speak HTTP/1 may never end its line.
    private var isOfResponse: Bool {
        guard case .statusLine = expected else { return true }
        return Self.versions.contains { zip(line, $0).allSatisfy(==) }
    }

    private static let versions = ["HTTP/1.1 ".utf8, "HTTP/1.0 ".utf8]

    /// Sets what is expected after this line. Returns false if the line is unexpected.
    private mutating func advance() -> Bool {
        switch (expected, line[0]) {
        case (.statusLine, _):
            expected = .firstField
        case (_, UInt8(ascii: "\r")) where line.count == 2, (_, UInt8(ascii: "\n")):
            expected = .statusLine
        case (.field, UInt8(ascii: " ")), (.field, UInt8(ascii: "\t")):
            break
        case (.firstField, UInt8(ascii: " ")), (.firstField, UInt8(ascii: "\t")):
            return false
        case (.firstField, _), (.field, _):
            expected = .field
            // libcurl looks no further than a carriage return.
            return line.prefix { $0 != UInt8(ascii: "\r") }.contains(UInt8(ascii: ":"))
        }
        return true
    }

    /// The informational responses since the last call.
    mutating func takeInformational() -> [ResponseHead] {
        defer { parser.informational = [] }
        return parser.informational
    }
}
