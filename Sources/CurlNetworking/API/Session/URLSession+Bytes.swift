import Foundation

extension _URLSessionAdditions where Self: URLSession {
    /// Returns the response to `request`, and its body as it arrives.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/bytes(for:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func bytes(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URLSession.AsyncBytes, URLResponse) {
        let relay = TaskRelay()
        let stream = ByteStream(caughtUp: relay.caughtUp, abandoned: relay.cancel)
        let task = URLSessionDataTask(engine: makeEngine(request, .bytes(stream)))
        relay.task = task
        _ = introduce(task, delegate: delegate)
        return try await withTaskCancellationHandler {
            task.resume()
            let response = try await stream.response()
            return (URLSession.AsyncBytes(task: task, stream: stream), response)
        } onCancel: {
            task.cancel()
        }
    }

    /// Returns the response to a GET for `url`, and its body as it arrives.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/bytes(from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func bytes(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URLSession.AsyncBytes, URLResponse) {
        try await bytes(for: makeRequest(url), delegate: delegate)
    }
}

extension URLSession {
    /// The bytes of a body, read as they arrive.
    ///
    /// The transfer runs no faster than its reader: at most ``maximumWaitingBytes`` are buffered in memory, plus the bytes that arrive in
    /// one turn of the event loop; see <doc:FlowOfBytes> for what HTTP/2 adds. Breaking out of a loop over the bytes or releasing the
    /// sequence stops the transfer. Iterators share the one body: a byte that one iterator has consumed is seen by no other.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/asyncbytes>
    public struct AsyncBytes: AsyncSequence, Sendable {
        /// One byte.
        public typealias Element = UInt8

        /// The task that loads the bytes.
        public let task: URLSessionDataTask

        private let reader: BodyReader

        init(task: URLSessionDataTask, stream: ByteStream) {
            self.task = task
            reader = BodyReader(stream: stream)
        }

        /// The number of bytes that may wait for the reader before the transfer pauses: 256 KiB.
        public static let maximumWaitingBytes = BodyBuffer.highMark

        /// The body in chunks as they arrive; far cheaper than byte by byte. An addition of this module.
        public var chunks: AsyncChunks { AsyncChunks(reader: reader) }

        /// An iterator over the bytes.
        public func makeAsyncIterator() -> Iterator {
            Iterator(chunks: chunks.makeAsyncIterator())
        }

        /// An iterator over the bytes; it neither waits nor locks within a chunk that has arrived.
        public struct Iterator: AsyncIteratorProtocol {
            private var chunks: AsyncChunks.Iterator
            private var piece = Data()
            private var position = 0

            fileprivate init(chunks: AsyncChunks.Iterator) {
                self.chunks = chunks
            }

            /// Returns the next byte; nil at the end and after an error. Like the other form, it doesn't leave the caller's actor.
            public nonisolated(nonsending) mutating func next() async throws -> UInt8? {
                try await next(isolation: #isolation)
            }

            /// Returns the next byte, without leaving the caller's actor: a byte that has arrived never costs a thread switch.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                if position < piece.endIndex {
                    defer { position += 1 }
                    return piece[position]
                }
                return try await nextOfNextPiece(isolation: actor)
            }

            private mutating func nextOfNextPiece(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                while let next = try await chunks.next(isolation: actor) {
                    guard !next.isEmpty else { continue }
                    piece = next
                    position = next.startIndex + 1
                    return next[next.startIndex]
                }
                piece = Data()
                position = 0
                return nil
            }
        }
    }

    /// The chunks of a body, read as they arrive; see ``AsyncBytes/chunks``.
    public struct AsyncChunks: AsyncSequence, Sendable {
        /// A chunk of at least one byte.
        public typealias Element = Data

        fileprivate let reader: BodyReader

        /// An iterator over the chunks.
        public func makeAsyncIterator() -> Iterator {
            Iterator(reading: IteratorLife(reader: reader))
        }

        /// An iterator over the chunks.
        public struct Iterator: AsyncIteratorProtocol {
            private let reading: IteratorLife
            private var isOver = false

            fileprivate init(reading: IteratorLife) {
                self.reading = reading
            }

            /// Returns the next chunk; nil at the end and after an error. Like the other form, it doesn't leave the caller's actor.
            public nonisolated(nonsending) mutating func next() async throws -> Data? {
                try await next(isolation: #isolation)
            }

            /// Returns the next chunk, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
                guard !isOver else { return nil }
                isOver = true
                let piece = try await reading.reader.stream.next(for: reading, isolation: actor)
                isOver = piece == nil
                return piece
            }
        }
    }
}

/// Stops the transfer when the sequence is released.
private final class BodyReader: Sendable {
    let stream: ByteStream

    init(stream: ByteStream) {
        self.stream = stream
    }

    deinit {
        stream.abandon()
    }
}

/// Stops the transfer when its iterator is released, because the program left the loop. An iterator that was never used, or was refused
/// because another was reading, doesn't stop the transfer.
private final class IteratorLife: Sendable {
    let reader: BodyReader

    init(reader: BodyReader) {
        self.reader = reader
    }

    deinit {
        reader.stream.left(by: self)
    }
}

/// Lets a stream call the task that retains it, without a retain cycle.
private final class TaskRelay: @unchecked Sendable {
    // @unchecked: written once, before the task is resumed and before any call.
    weak var task: URLSessionTask?

    @Sendable func caughtUp() {
        task?.engine?.consumerCaughtUp()
    }

    @Sendable func cancel() {
        task?.cancel()
    }
}
