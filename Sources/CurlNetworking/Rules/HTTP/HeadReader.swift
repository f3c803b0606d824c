import Foundation

/// Finds a response's head in bytes as they arrive (RFC 9112 §2.2), on connections on which libcurl doesn't.
struct HeadReader {
    enum Event {
        case incomplete
        case complete(ResponseHead)
        /// Too large, with too many fields, or without one length of the body.
        case malformed
        /// What comes is no response.
        case unparsable
    }

    private var parser = HeadParser()
    /// The beginning of a line whose end has yet to come.
    private var line: [UInt8] = []
    /// Of all heads, informational ones included, in bytes.
    private(set) var size = 0

    /// In bytes.
    private static let longestLine = 300 * 1024

    /// Takes bytes until the head is complete; what follows it stays in `input`.
    mutating func consume(_ input: inout UnsafeRawBufferPointer) -> Event {
        while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            let count = input.distance(from: input.startIndex, to: end) + 1
            line.append(contentsOf: input.prefix(count))
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
            let event = consumeLine()
            guard case .incomplete = event else { return event }
        }
        line.append(contentsOf: input)
        input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
        return line.count > Self.longestLine ? .malformed : .incomplete
    }

    private mutating func consumeLine() -> Event {
        // What is no answer of HTTP/1 at all needn't ever come to an empty line.
        if size == 0, !line.starts(with: "HTTP/1.".utf8) { return .unparsable }
        size += line.count
        defer { line.removeAll(keepingCapacity: true) }
        return switch line.withUnsafeBytes({ parser.consume(lines: $0) }) {
        case .incomplete: .incomplete
        case .complete(let head): .complete(head)
        case .malformed: .malformed
        case .unparsable: .unparsable
        }
    }

    /// The informational responses since the last call.
    mutating func takeInformational() -> [ResponseHead] {
        defer { parser.informational = [] }
        return parser.informational
    }
}
