import Foundation

/// Splits a body of the type `multipart/x-mixed-replace` into its parts. The bytes may arrive in any pieces, and the server may be hostile.
///
/// A part begins after a line that begins with the boundary (RFC 2046 §5.1.1), and ends before the line break ahead of the next one. Like
/// browsers, the parser accepts a bare line feed as a line break, and a boundary parameter that already has the two hyphens. It holds back
/// no more than a boundary and its line break, or the head of one part.
struct PartParser {
    enum Event: Equatable {
        /// Another part begins, with these fields.
        case part([HeaderField])
        /// Bytes of the part's body.
        case body([UInt8])
    }

    /// The head of a part is larger than allowed.
    struct HeadTooLarge: Error, Equatable {}

    /// In bytes.
    static let largestHead = 16 * 1024
    /// The most lines in the head of a part. Each takes time, and as few as two bytes.
    static let maximumLines = 100
    private static let largestBoundary = 256
    /// What follows the last boundary.
    private static let lastMark = Array("--".utf8)

    private enum State {
        case preamble
        /// After a boundary: in the rest of its line.
        case boundaryLine
        case head(Head)
        /// At the very beginning of the body, where a boundary needs no line break before it.
        case bodyStart
        case body
        /// After the last boundary.
        case ended
    }

    /// Two hyphens and the boundary. Until one has arrived, also the boundary alone if it begins with two hyphens.
    private var delimiters: [[UInt8]]
    private var state = State.preamble
    /// Bytes that may be the beginning of a boundary.
    private var held: [UInt8]

    /// nil if `contentType`, the value of a `Content-Type` field, is another type or has no boundary.
    init?(contentType: String) {
        guard let boundary = Self.boundary(in: contentType) else { return nil }
        delimiters = [Array("--\(boundary)".utf8)]
        if boundary.hasPrefix("--") { delimiters.append(Array(boundary.utf8)) }
        // The first boundary may be at the very beginning.
        held = [.lineFeed]
    }

    // MARK: - Bytes

    mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(HeadTooLarge) -> [Event] {
        if case .ended = state { return [] }
        var rest = (held + bytes)[...]
        held = []
        var events: [Event] = []
        while try step(&rest, &events) {}
        held = Array(rest)
        return events
    }

    /// The body is over. Returns the bytes of the last part that were held back because they could have begun a boundary; nil if there are
    /// none.
    mutating func finish() -> [UInt8]? {
        defer { (state, held) = (.ended, []) }
        switch state {
        case .body, .bodyStart: return held.isEmpty ? nil : held
        case .preamble, .boundaryLine, .head, .ended: return nil
        }
    }

    /// Returns true if `rest` may contain more.
    private mutating func step(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) throws(HeadTooLarge) -> Bool {
        switch state {
        case .preamble:
            return findDelimiter(&rest) { _ in }
        case .body:
            return findDelimiter(&rest) { body in if !body.isEmpty { events.append(.body(Array(body))) } }
        case .bodyStart:
            guard let length = delimiterLength(at: rest) else { return false }
            state = length > 0 ? .boundaryLine : .body
            rest = rest.dropFirst(length)
            return true
        case .boundaryLine:
            return skipBoundaryLine(&rest)
        case .head(var head):
            // Releases its bytes, which would otherwise be copied.
            state = .bodyStart
            guard try head.take(&rest) else {
                state = .head(head)
                return false
            }
            events.append(.part(Self.fields(in: head.bytes[...])))
            return true
        case .ended:
            rest = []
            return false
        }
    }

    /// Passes the bytes before the next boundary's line to `take`, or all bytes that can't be the beginning of one.
    private mutating func findDelimiter(
        _ rest: inout ArraySlice<UInt8>,
        _ take: (ArraySlice<UInt8>) -> Void
    ) -> Bool {
        var index = rest.startIndex
        while let lineFeed = rest[index...].firstIndex(of: .lineFeed) {
            index = lineFeed + 1
            let hasReturn = lineFeed > rest.startIndex && rest[lineFeed - 1] == .carriageReturn
            let end = hasReturn ? lineFeed - 1 : lineFeed
            switch delimiterLength(at: rest[index...]) {
            case nil:
                take(rest[..<end])
                rest = rest[end...]
                return false
            case 0?:
                break
            case let length?:
                take(rest[..<end])
                rest = rest[(index + length)...]
                state = .boundaryLine
                return true
            }
        }
        let end = rest.last == .carriageReturn ? rest.endIndex - 1 : rest.endIndex
        take(rest[..<end])
        rest = rest[end...]
        return false
    }

    /// The length of the delimiter that `bytes` begin with, 0 if they begin with none, nil if there are too few to decide. The first to
    /// arrive is the server's.
    private mutating func delimiterLength(at bytes: ArraySlice<UInt8>) -> Int? {
        // All of them begin with one. Most lines that don't are told apart quickly.
        if let first = bytes.first, first != .hyphen { return 0 }
        for delimiter in delimiters where bytes.prefix(delimiter.count).elementsEqual(delimiter.prefix(bytes.count)) {
            guard bytes.count >= delimiter.count else { return nil }
            if delimiters.count > 1 { delimiters = [delimiter] }
            return delimiter.count
        }
        return 0
    }

    /// Two hyphens after a boundary end the parts; anything else in its line is ignored.
    private mutating func skipBoundaryLine(_ rest: inout ArraySlice<UInt8>) -> Bool {
        guard let first = rest.first else { return false }
        if first == .hyphen, rest.count < 2 { return false }
        if rest.starts(with: Self.lastMark) {
            state = .ended
            return true
        }
        guard let lineFeed = rest.firstIndex(of: .lineFeed) else {
            // At least one byte must stay, so that it isn't taken for the end.
            rest = [0]
            return false
        }
        rest = rest[(lineFeed + 1)...]
        state = .head(Head())
        return true
    }

    // MARK: - Heads

    /// What has arrived of a part's head.
    private struct Head {
        private(set) var bytes: [UInt8] = []
        private var lineCount = 0
        /// Where the last line begins.
        private var line = 0

        /// Takes its bytes from the beginning of `rest`. Returns true if they end with the empty line before the body.
        mutating func take(_ rest: inout ArraySlice<UInt8>) throws(HeadTooLarge) -> Bool {
            var isComplete = false
            while !isComplete, let lineFeed = rest.firstIndex(of: .lineFeed) {
                bytes += rest[...lineFeed]
                rest = rest[(lineFeed + 1)...]
                let length = bytes.count - line - 1
                isComplete = length == 0 || length == 1 && bytes[line] == .carriageReturn
                line = bytes.count
                lineCount += 1
            }
            if !isComplete {
                bytes += rest
                rest = []
            }
            guard bytes.count <= PartParser.largestHead, lineCount <= PartParser.maximumLines else {
                throw HeadTooLarge()
            }
            return isComplete
        }
    }

    /// Lines that aren't fields are left out, and what continues them. In MIME a line that begins with white space continues the one above
    /// (RFC 5322 §2.2.3).
    private static func fields(in head: ArraySlice<UInt8>) -> [HeaderField] {
        var lines: [ArraySlice<UInt8>] = []
        for line in head.split(separator: .lineFeed) {
            guard line.first == .space || line.first == .tab, let last = lines.indices.last else {
                lines.append(line)
                continue
            }
            if lines[last].last == .carriageReturn { lines[last].removeLast() }
            lines[last] += line
        }
        return lines.compactMap(field)
    }

    private static func field(in line: ArraySlice<UInt8>) -> HeaderField? {
        line.withUnsafeBytes { line in
            guard let colon = line.position(of: .colon), colon > 0,
                line[..<colon].allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
            let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]).trimmed
            guard !value.contains(where: \.isFieldControl) else { return nil }
            // Those of a response say what becomes of bytes that aren't UTF-8.
            var fields = HeaderFields()
            fields.append(name: UnsafeRawBufferPointer(rebasing: line[..<colon]), value: value)
            return fields.first
        }
    }

    private static func boundary(in contentType: String) -> String? {
        guard mayBeMultipart(contentType) else { return nil }
        let words = contentType.split(separator: ";", omittingEmptySubsequences: false)
        guard let type = words.first?.trimmingCharacters(in: .whitespaces),
            type.isEqualIgnoringASCIICase(to: "multipart/x-mixed-replace")
        else { return nil }
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2,
                parts[0].trimmingCharacters(in: .whitespaces).isEqualIgnoringASCIICase(to: "boundary")
            else { continue }
            let value = parts[1].trimmingCharacters(in: .whitespaces).trimmingCharacters(in: ["\""])
            let isUsable = !value.isEmpty && value.utf8.count <= largestBoundary
            return isUsable && !value.utf8.contains(where: { $0 < 0x20 }) ? value : nil
        }
        return nil
    }
}

extension PartParser {
    /// Whether the type may begin with "multipart". Checked for every response to a delegate, since parsing a field costs a tenth of a
    /// request's instructions.
    private static func mayBeMultipart(_ contentType: String) -> Bool {
        let first = contentType.utf8.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return first.map { $0 | 0x20 == UInt8(ascii: "m") || $0 >= 0x80 } ?? false
    }
}

extension UInt8 {
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
    fileprivate static let hyphen = UInt8(ascii: "-")
    fileprivate static let colon = UInt8(ascii: ":")
    fileprivate static let space = UInt8(ascii: " ")
    fileprivate static let tab = UInt8(ascii: "\t")
}
