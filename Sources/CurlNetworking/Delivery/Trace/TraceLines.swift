/// Cuts libcurl's debug output for one transfer into lines, however it is split, and removes credentials from them.
struct TraceLines {
    enum Stream: Hashable, CaseIterable {
        case text, headerIn, headerOut
    }

    private let redaction: TraceRedaction?
    private var text = LineBuffer()
    private var headerIn = LineBuffer()
    private var headerOut = LineBuffer()
    /// Whether the previous line held a secret that the next may continue.
    private var endsWithSecret: [Stream: Bool] = [:]
    /// Whether a request head has started and not yet ended.
    private(set) var isInsideRequestHead = false

    /// With nil, nothing is removed.
    init(_ redaction: TraceRedaction?) {
        self.redaction = redaction
    }

    /// The lines that `bytes` complete.
    mutating func lines(of bytes: UnsafeRawBufferPointer, in stream: Stream) -> [String] {
        let lines =
            switch stream {
            case .text: text.append(bytes)
            case .headerIn: headerIn.append(bytes)
            case .headerOut: headerOut.append(bytes)
            }
        return lines.map { finished($0, in: stream) }
    }

    /// If a request's head is too large for one write, libcurl reports the rest as body. Returns how many of `bytes` belong to the head.
    func lengthOfRequestHead(in bytes: UnsafeRawBufferPointer) -> Int {
        isInsideRequestHead ? headerOut.lengthUpToEmptyLine(in: bytes) : 0
    }

    /// The remaining, unterminated lines.
    mutating func rest() -> [(Stream, String)] {
        let rests: [(Stream, [UInt8]?)] = [
            (.text, text.takeRest()), (.headerIn, headerIn.takeRest()), (.headerOut, headerOut.takeRest()),
        ]
        return rests.compactMap { stream, rest in rest.map { (stream, finished($0, in: stream)) } }
    }

    private mutating func finished(_ bytes: [UInt8], in stream: Stream) -> String {
        let line = String(decoding: bytes, as: UTF8.self)
        if stream == .headerOut { isInsideRequestHead = !line.isEmpty }
        guard let redaction else { return line }
        guard stream != .text else { return redaction.text(line) }
        let (redacted, isSecret) = redaction.headerLine(line, continuesSecret: endsWithSecret[stream] ?? false)
        endsWithSecret[stream] = isSecret
        return redacted
    }
}

/// Collects bytes up to the end of their line.
private struct LineBuffer {
    private var pending: [UInt8] = []

    /// In bytes: more than libcurl takes or sends in one line.
    private static let limit = 1 << 20

    /// Returns complete lines without LF and a CR before it.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
            lines.append(pending)
            pending = []
            rest = rest[(end + 1)...]
        }
        keep(rest)
        return lines
    }

    /// Keeps only the start of an overlong line, which identifies the line.
    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        pending.append(contentsOf: bytes.prefix(Self.limit - pending.count))
    }

    /// The length up to and including the first empty line; all of `bytes` if there is none.
    func lengthUpToEmptyLine(in bytes: UnsafeRawBufferPointer) -> Int {
        var lineLength = pending.count { $0 != UInt8(ascii: "\r") }
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "\n"):
                if lineLength == 0 { return index + 1 }
                lineLength = 0
            case UInt8(ascii: "\r"): break
            default: lineLength += 1
            }
        }
        return bytes.count
    }

    mutating func takeRest() -> [UInt8]? {
        defer { pending = [] }
        return pending.isEmpty ? nil : pending
    }
}
