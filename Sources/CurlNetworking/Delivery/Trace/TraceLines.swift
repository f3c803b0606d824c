/// Cuts what libcurl says about one transfer into lines, however it comes, and takes credentials out of them.
struct TraceLines {
    enum Stream: Hashable, CaseIterable {
        case text, headerIn, headerOut
    }

    private let redaction: TraceRedaction?
    private var text = LineBuffer()
    private var headerIn = LineBuffer()
    private var headerOut = LineBuffer()
    /// The line before held a secret that the next one may go on with.
    private var endsWithSecret: [Stream: Bool] = [:]
    /// Whether a head has begun to go out, and not ended.
    private(set) var isInsideRequestHead = false

    /// nil takes nothing out.
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

    /// The head of a request that was too large for one write goes on in what libcurl calls a body. How many of `bytes`
    /// belong to it.
    func lengthOfRequestHead(in bytes: UnsafeRawBufferPointer) -> Int {
        isInsideRequestHead ? headerOut.lengthUpToEmptyLine(in: bytes) : 0
    }

    /// What is left of lines that nothing has ended.
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

/// Gathers bytes up to the end of their line.
private struct LineBuffer {
    private var pending: [UInt8] = []

    /// More than libcurl takes or sends in one line.
    private static let limit = 1 << 20

    /// Without their ends: LF, and the CR before it.
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

    /// The start of a line says what it is; of one that never ends no more is kept.
    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        pending.append(contentsOf: bytes.prefix(Self.limit - pending.count))
    }

    /// Up to and with the first empty line; all of them where there is none.
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
