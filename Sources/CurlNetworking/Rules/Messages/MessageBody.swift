import Foundation

/// Finds a response's body in bytes as they arrive (RFC 9112 §6 and §7), on connections where libcurl doesn't.
struct MessageBody {
    struct Violation: Error, Equatable {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private enum State {
        /// With the number of bytes left; nil for all up to the connection's end.
        case bytes(UInt64?)
        /// In the line that begins a chunk; with the size so far, nil before the first digit.
        case chunkSize(UInt64?)
        /// In the rest of that line, which is ignored.
        case chunkExtension(UInt64)
        case chunk(UInt64)
        /// The line end after a chunk.
        case chunkEnd
        /// In a line after the last chunk; with its length so far.
        case trailer(Int)
        case complete
    }

    private var state: State
    /// The bytes around the chunks, since the last chunk that had any.
    private var overhead = 0

    /// In bytes: chunk extensions and trailers aren't kept, but mustn't continue for ever.
    private static let maximumOverhead = 100 * 1024

    /// The body after `head`, the response to a request with `method`.
    init(after head: ResponseHead, method: String) throws(Violation) {
        if method == "HEAD" || [204, 304].contains(head.status) {
            state = .complete
        } else if head.status == 101 {
            // Another protocol follows (RFC 9112 §6.3).
            state = .bytes(nil)
        } else if head["Transfer-Encoding"] != nil {
            state = head.isChunked ? .chunkSize(nil) : .bytes(nil)
        } else if let field = head["Content-Length"] {
            guard let length = head.contentLength else {
                throw Violation("The response's Content-Length isn't a number: \(field.debugDescription).")
            }
            state = length == 0 ? .complete : .bytes(UInt64(length))
        } else {
            state = .bytes(nil)
        }
    }

    var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Whether the body may end with the connection.
    var mayEnd: Bool {
        switch state {
        case .bytes(nil), .complete: true
        case .bytes, .chunkSize, .chunkExtension, .chunk, .chunkEnd, .trailer: false
        }
    }

    /// The next bytes of the body; nil if `input` has no more. Removes from `input` everything of the message up to their end.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(Violation) -> UnsafeRawBufferPointer? {
        while !input.isEmpty {
            switch state {
            case .complete:
                return nil
            case .bytes(let left):
                let piece = input.take(left)
                state = Self.state(after: left.map { $0 - UInt64(piece.count) })
                return piece
            case .chunk(let left):
                let piece = input.take(left)
                let rest = left - UInt64(piece.count)
                state = rest == 0 ? .chunkEnd : .chunk(rest)
                overhead = 0
                return piece
            case .chunkSize, .chunkExtension, .chunkEnd, .trailer:
                try consume(input[0])
                input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
            }
        }
        return nil
    }

    private static func state(after left: UInt64?) -> State {
        left == 0 ? .complete : .bytes(left)
    }

    /// Consumes a byte around the chunks.
    private mutating func consume(_ byte: UInt8) throws(Violation) {
        overhead += 1
        guard overhead <= Self.maximumOverhead else {
            throw Violation("The response's chunks have too much around them.")
        }
        let (isEnd, isReturn) = (byte == UInt8(ascii: "\n"), byte == UInt8(ascii: "\r"))
        switch state {
        case .chunkSize(let size):
            state = try Self.state(after: byte, ofSize: size)
        case .chunkExtension(let size):
            if isEnd { state = Self.state(ofChunkWith: size) }
        case .chunkEnd:
            guard isEnd || isReturn else { throw Violation("A chunk of the response is longer than it says.") }
            if isEnd { state = .chunkSize(nil) }
        case .trailer(let length):
            if isEnd {
                state = length == 0 ? .complete : .trailer(0)
            } else if !isReturn {
                state = .trailer(length + 1)
            }
        case .bytes, .chunk, .complete:
            break
        }
    }

    /// - Parameter size: The size in the digits before `byte`; nil if there are none.
    private static func state(after byte: UInt8, ofSize size: UInt64?) throws(Violation) -> State {
        if let digit = byte.hexValue {
            guard (size ?? 0) <= UInt64(Int64.max) >> 4 else {
                throw Violation("A chunk of the response is too large.")
            }
            return .chunkSize((size ?? 0) << 4 | UInt64(digit))
        }
        switch (byte, size) {
        case (UInt8(ascii: "\n"), let size?):
            return state(ofChunkWith: size)
        case (UInt8(ascii: "\r"), let size?), (UInt8(ascii: ";"), let size?), (UInt8(ascii: " "), let size?),
            (UInt8(ascii: "\t"), let size?):
            return .chunkExtension(size)
        default:
            throw Violation("A chunk of the response has no size.")
        }
    }

    /// The state after the line that begins a chunk.
    private static func state(ofChunkWith size: UInt64) -> State {
        size == 0 ? .trailer(0) : .chunk(size)
    }
}

extension UnsafeRawBufferPointer {
    /// Removes the first bytes, at most `count` of them; nil for all.
    fileprivate mutating func take(_ count: UInt64?) -> UnsafeRawBufferPointer {
        let length = count.map { Int(clamping: Swift.min($0, UInt64(self.count))) } ?? self.count
        defer { self = UnsafeRawBufferPointer(rebasing: dropFirst(length)) }
        return UnsafeRawBufferPointer(rebasing: prefix(length))
    }
}
