import Foundation

/// Turns the bytes of a connection into requests. Knows nothing of sockets; keeps what is incomplete, and only that.
///
/// The caller takes events until `nil` asks for more input:
///
///     while let event = try parser.next(&input) { … }
struct RequestParser {
    enum Event {
        case head(RequestHead)
        /// A piece of the decoded body, valid until the caller's input is.
        case body(UnsafeRawBufferPointer)
        /// The request is complete. Every head is followed by this.
        case end(trailers: [LoopbackServer.Field])
    }

    /// What comes next on the wire.
    private enum Expected {
        case head
        case body(remaining: Int64)
        case chunkSize
        case chunk(remaining: Int64)
        case chunkEnd
        case trailer(bytes: Int)
    }

    /// Of one head, and of one chunked body's trailers.
    let headLimit: Int
    private static let chunkLineLimit = 4096

    private var expected = Expected.head
    /// The beginning of a head or line whose end hasn't arrived.
    private var held: [UInt8] = []
    private var trailers: [LoopbackServer.Field] = []

    init(headLimit: Int = 64 * 1024) {
        self.headLimit = headLimit
    }

    /// Whether the last request is complete and nothing of another has arrived.
    var isBetweenRequests: Bool {
        guard case .head = expected else { return false }
        return held.isEmpty
    }

    /// The next event; consumes its bytes from `input`. After a `Rejection` the connection can't be understood any more.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(Rejection) -> Event? {
        while true {
            switch expected {
            case .head:
                guard let head = try takeHead(&input) else { return nil }
                switch head.framing {
                case .none: expected = .body(remaining: 0)
                case .length(let length): expected = .body(remaining: length)
                case .chunked: expected = .chunkSize
                }
                return .head(head)
            case .body(let remaining):
                if remaining == 0 { return end() }
                guard let piece = take(&input, atMost: remaining) else { return nil }
                expected = .body(remaining: remaining - Int64(piece.count))
                return .body(piece)
            case .chunkSize:
                guard let line = try takeLine(&input, limit: Self.chunkLineLimit) else { return nil }
                let size = try chunkSize(line)
                expected = size == 0 ? .trailer(bytes: 0) : .chunk(remaining: size)
            case .chunk(let remaining):
                guard let piece = take(&input, atMost: remaining) else { return nil }
                let left = remaining - Int64(piece.count)
                expected = left == 0 ? .chunkEnd : .chunk(remaining: left)
                return .body(piece)
            case .chunkEnd:
                guard let line = try takeLine(&input, limit: 2) else { return nil }
                guard line.isEmpty else { throw .malformed("A chunk is longer than its size") }
                expected = .chunkSize
            case .trailer(let bytes):
                guard let line = try takeLine(&input, limit: headLimit - bytes) else { return nil }
                if line.isEmpty { return end() }
                try appendTrailer(line)
                expected = .trailer(bytes: bytes + line.count)
            }
        }
    }

    private mutating func end() -> Event {
        expected = .head
        defer { trailers = [] }
        return .end(trailers: trailers)
    }

    // MARK: Pieces

    private func take(_ input: inout UnsafeRawBufferPointer, atMost limit: Int64) -> UnsafeRawBufferPointer? {
        guard !input.isEmpty else { return nil }
        return drop(&input, Int(min(limit, Int64(input.count))))
    }

    @discardableResult
    private func drop(_ input: inout UnsafeRawBufferPointer, _ count: Int) -> UnsafeRawBufferPointer {
        defer { input = input.part(count...) }
        return input.part(..<count)
    }

    private mutating func takeHead(_ input: inout UnsafeRawBufferPointer) throws(Rejection) -> RequestHead? {
        if held.isEmpty {
            // Empty lines before a request line are ignored (RFC 9112, section 2.2).
            while let first = input.first, first == .carriageReturn || first == .lineFeed {
                drop(&input, 1)
            }
            if let end = endOfHead(input, from: 0) {
                guard end <= headLimit else { throw .headTooLarge }
                return try RequestHead(drop(&input, end))
            }
        }
        let known = held.count
        held.append(contentsOf: input.prefix(headLimit + 1 - known))
        guard let end = held.withUnsafeBytes({ endOfHead($0, from: max(0, known - 3)) }) else {
            guard held.count <= headLimit else { throw .headTooLarge }
            drop(&input, input.count)
            return nil
        }
        guard end <= headLimit else { throw .headTooLarge }
        drop(&input, end - known)
        let bytes = held.prefix(end)
        held.removeAll(keepingCapacity: true)
        return try parse(bytes)
    }

    private func parse(_ bytes: ArraySlice<UInt8>) throws(Rejection) -> RequestHead {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(Rejection) in try RequestHead(bytes) }
        }
        return try result.get()
    }

    /// The index after the first empty line.
    private func endOfHead(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var start = start
        while let found = bytes.part(start...).index(of: .lineFeed) {
            let next = start + found + 1
            guard next < bytes.count else { return nil }
            if bytes[next] == .lineFeed { return next + 1 }
            if bytes[next] == .carriageReturn, next + 1 < bytes.count, bytes[next + 1] == .lineFeed {
                return next + 2
            }
            start = next
        }
        return nil
    }

    /// A line of a chunked body, without its end.
    private mutating func takeLine(
        _ input: inout UnsafeRawBufferPointer,
        limit: Int
    ) throws(Rejection) -> [UInt8]? {
        guard let end = input.index(of: .lineFeed) else {
            guard held.count + input.count <= limit else { throw .malformed("A line of a chunked body is too long") }
            held.append(contentsOf: drop(&input, input.count))
            return nil
        }
        guard held.count + end <= limit else { throw .malformed("A line of a chunked body is too long") }
        var line = held
        line.append(contentsOf: drop(&input, end + 1).dropLast())
        held.removeAll(keepingCapacity: true)
        if line.last == .carriageReturn { line.removeLast() }
        return line
    }

    /// The size in hexadecimal digits; extensions after a semicolon are ignored.
    private func chunkSize(_ line: [UInt8]) throws(Rejection) -> Int64 {
        let digits = line.prefix { $0.hexadecimalDigit != nil }
        let following = line.dropFirst(digits.count).first
        // 15 digits always fit.
        guard (1...15).contains(digits.count), following.map({ $0 == .semicolon || $0.isBlank }) ?? true else {
            throw .malformed("A chunk's size isn't a number")
        }
        return digits.reduce(0) { $0 << 4 | Int64($1.hexadecimalDigit ?? 0) }
    }

    private mutating func appendTrailer(_ line: [UInt8]) throws(Rejection) {
        let result = line.withUnsafeBytes { bytes in
            Result { () throws(Rejection) in
                let (name, value) = try bytes.field()
                return (name: name.string, value: value.string)
            }
        }
        trailers.append(try result.get())
    }
}
