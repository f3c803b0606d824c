import Foundation

/// Assembles a response's head from the lines that libcurl delivers.
///
/// libcurl has checked the syntax of HTTP/1, and turns HTTP/2's fields into lines. Informational responses (1xx) also end with an empty
/// line and are collected separately. Lines after the head are trailers, which are counted and ignored.
struct HeadParser {
    private var statusLine: StatusLine?
    /// Those after the status line.
    private var fields = HeaderFields()
    private(set) var isComplete = false
    /// The informational responses since the caller last emptied this.
    var informational: [ResponseHead] = []

    /// In bytes, for all heads together, and again for the trailers. libcurl's own limit is 300 KiB for each head since 8.3; it keeps all
    /// trailers in memory.
    static let maximumSize = 300 * 1024
    /// In each head. Only a hostile server sends nearly as many, and a field costs far more memory and time than its bytes.
    static let maximumFields = 5000
    private var size = 0
    /// How much larger they may be together, in bytes.
    var allowance = 0
    /// Whether they are a proxy's responses to CONNECT.
    private let answersConnect: Bool

    init(answersConnect: Bool = false) {
        self.answersConnect = answersConnect
    }

    fileprivate struct StatusLine {
        let version: String
        let status: Int
    }

    enum Event {
        case incomplete
        case complete(ResponseHead)
        /// Too large, with too many fields or lines that are none, or without a clear length of the body; or trailers that are too large.
        case malformed
        /// Without a status line.
        case unparsable
    }

    /// Usually called with one line; with several if libcurl held them back while it was paused.
    mutating func consume(lines: UnsafeRawBufferPointer) -> Event {
        size += lines.count
        guard size - allowance <= Self.maximumSize else { return .malformed }
        var rest = lines
        while !isComplete, !rest.isEmpty {
            let end = rest.position(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.count
            let event = consume(line: UnsafeRawBufferPointer(rebasing: rest[..<end]))
            guard case .incomplete = event else { return event }
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
        return .incomplete
    }

    private mutating func consume(line: UnsafeRawBufferPointer) -> Event {
        let first = line.first
        let isContinuation = first == UInt8(ascii: " ") || first == UInt8(ascii: "\t")
        let line = line.trimmed
        if isContinuation {
            return fold(line)
        } else if line.isEmpty {
            return finish()
        } else if first == UInt8(ascii: "\r") {
            // libcurl takes any line that begins like that for the head's end.
            return .malformed
        } else if line[0] == UInt8(ascii: "H"), statusLine == nil, let statusLine = StatusLine(line) {
            self.statusLine = statusLine
            fields.reserveCapacity(16)
            return .incomplete
        } else {
            return append(line)
        }
    }

    private mutating func finish() -> Event {
        guard let line = statusLine.take() else { return .unparsable }
        let head = ResponseHead(version: line.version, status: line.status, fields: fields)
        fields = HeaderFields()
        guard head.status >= 200 || head.status == 101 else {
            informational.append(head)
            return .incomplete
        }
        isComplete = true
        size = 0
        return head.hasContradictingLengths && !opensTunnel(head.status) ? .malformed : .complete(head)
    }

    /// Whether a response with this status has no body, whatever its fields say (RFC 9110 §9.3.6).
    private func opensTunnel(_ status: Int?) -> Bool {
        answersConnect && status.map { (200..<300).contains($0) } == true
    }

    /// Obsolete line folding (RFC 9112 §5.2) continues the value above. libcurl doesn't find a transfer coding there, and would take the
    /// chunks for the body.
    private mutating func fold(_ line: UnsafeRawBufferPointer) -> Event {
        guard let last = fields.indices.last else { return .incomplete }
        fields.continueLast(with: line)
        guard fields.index(of: "Transfer-Encoding", from: last) != nil else { return .incomplete }
        return opensTunnel(statusLine?.status) ? .incomplete : .malformed
    }

    private mutating func append(_ line: UnsafeRawBufferPointer) -> Event {
        guard statusLine != nil, let colon = line.position(of: UInt8(ascii: ":")) else { return .incomplete }
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon]).trimmed
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]).trimmed
        fields.append(name: name, value: value)
        if name.count != colon, lastSaysLength, !opensTunnel(statusLine?.status) { return .malformed }
        return fields.count > Self.maximumFields ? .malformed : .incomplete
    }

    /// libcurl doesn't find a field with white space before its colon; other recipients may (RFC 9112 §5.1).
    private var lastSaysLength: Bool {
        ["Content-Length", "Transfer-Encoding"].contains { fields.index(of: $0, from: fields.count - 1) != nil }
    }
}

extension HeadParser.StatusLine {
    /// From "HTTP/1.1 200 OK" or "HTTP/2 200".
    fileprivate init?(_ line: UnsafeRawBufferPointer) {
        guard line.hasPrefix("HTTP/"), let space = line.position(of: UInt8(ascii: " ")),
            Self.isVersion(line["HTTP/".utf8.count..<space])
        else { return nil }
        let rest = line[space...].drop { $0 == UInt8(ascii: " ") }
        let digits = rest.prefix { $0 != UInt8(ascii: " ") }
        // libcurl 8 accepts more than three digits.
        guard digits.count == 3, let status = Int(digits: digits), status >= 100 else { return nil }
        self.init(version: String(decoding: line[..<space], as: UTF8.self), status: status)
    }

    /// Whether it is a digit, or two with a dot between them (RFC 9112 §2.3). With any other version, libcurl takes the status to be 200.
    private static func isVersion(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let first = text.first, first.isASCIIDigit else { return false }
        let rest = text.dropFirst()
        return rest.isEmpty || rest.count == 2 && rest.first == UInt8(ascii: ".") && rest.last?.isASCIIDigit == true
    }
}
