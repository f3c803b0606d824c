import Foundation

extension _URLSessionAdditions where Self: URLSession {
    /// The response to `request`, and its body as it arrives.
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

    /// The response to a GET of `url`, and its body as it arrives.
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
    /// The transfer goes no faster than its reader: at most ``maximumWaitingBytes`` wait in memory, plus what arrives in one turn of the
    /// event loop; <doc:FlowOfBytes> says what HTTP/2 adds. Breaking out of a loop over the bytes stops the transfer, and so does releasing
    /// the sequence. There is one body, and so one reader: no other iterator sees a byte that one has taken.
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

        /// How many bytes may wait for the reader before the transfer pauses: 256 KiB.
        public static let maximumWaitingBytes = BodyBuffer.highMark

        /// The body in pieces as they arrived; far cheaper than byte by byte. An addition of this module.
        public var chunks: AsyncChunks { AsyncChunks(reader: reader) }

        /// An iterator over the bytes.
        public func makeAsyncIterator() -> Iterator {
            Iterator(chunks: chunks.makeAsyncIterator())
        }

        /// Reads byte by byte; within a piece that has arrived, it neither waits nor locks.
        public struct Iterator: AsyncIteratorProtocol {
            private var chunks: AsyncChunks.Iterator
            private var piece = Data()
            private var position = 0

            fileprivate init(chunks: AsyncChunks.Iterator) {
                self.chunks = chunks
            }

            /// The next byte; nil at the end, and after an error.
            public mutating func next() async throws -> UInt8? {
                try await next(isolation: nil)
            }

            /// The next byte, without leaving the caller's actor: no byte that has arrived costs a change of threads.
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

    /// The pieces of a body, read as they arrive; see ``AsyncBytes/chunks``.
    public struct AsyncChunks: AsyncSequence, Sendable {
        /// At least one byte.
        public typealias Element = Data

        fileprivate let reader: BodyReader

        /// An iterator over the pieces.
        public func makeAsyncIterator() -> Iterator {
            Iterator(reading: IteratorLife(reader: reader))
        }

        /// Takes one piece after another.
        public struct Iterator: AsyncIteratorProtocol {
            private let reading: IteratorLife
            private var isOver = false

            fileprivate init(reading: IteratorLife) {
                self.reading = reading
            }

            /// The next piece; nil at the end, and after an error.
            public mutating func next() async throws -> Data? {
                try await next(isolation: nil)
            }

            /// The next chunk, without leaving the caller's actor.
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

/// Stops the transfer when its iterator is released, because the loop over it was left. An iterator that was never used, or was refused
/// because another was reading, leaves the transfer to the others.
private final class IteratorLife: Sendable {
    let reader: BodyReader

    init(reader: BodyReader) {
        self.reader = reader
    }

    deinit {
        reader.stream.left(by: self)
    }
}

/// Lets a stream, which its task retains, call the task without retaining it.
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
