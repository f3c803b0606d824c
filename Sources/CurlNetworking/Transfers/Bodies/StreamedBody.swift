import Foundation
import CurlNetworkingLocks

/// A body from an `InputStream`, which may block: another thread reads ahead, within bounds, and the loop takes what is there. It can't
/// be restarted. Nothing touches the stream before the body is asked for bytes: a request that ends before that leaves it as it was.
///
/// `@unchecked Sendable`: `state` guards what both sides touch; the stream is touched by one of `WorkThreads` at a time, never by the loop.
final class StreamedBody: RequestBody, @unchecked Sendable {
    let length: Int64?
    private let stream: InputStream
    private let url: URL?
    /// Called on the reading thread when bytes are available again.
    private let becameReadable: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var buffer = Pieces()
        var end: End?
        var hasBegun = false
        /// A thread has the stream.
        var isReading = false
        var isAwaited = false
        var isClosed = false
        var read: Int64 = 0
        var delivered: Int64 = 0
    }

    private enum End {
        case complete
        /// With nil if the stream doesn't say why.
        case failed((any Error)?)
    }

    /// Bytes in order, in pieces that are released as they are taken: a single `Data` would keep all that was ever in it as long as it isn't empty.
    private struct Pieces {
        private(set) var count = 0
        private var pieces = Fifo<Data>()
        /// How much of the first piece has been taken.
        private var taken = 0

        mutating func append(_ bytes: UnsafePointer<UInt8>, count: Int) {
            // A stream may give its bytes one by one.
            let hasRoom = pieces.last.map { $0.count + count <= StreamedBody.readSize } ?? false
            if hasRoom {
                pieces.updateLast { $0.append(bytes, count: count) }
            } else {
                pieces.append(Data(bytes: bytes, count: count))
            }
            self.count += count
        }

        /// Moves the first bytes into `buffer`. Returns how many.
        mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            var filled = 0
            while filled < buffer.count, let piece = pieces.first {
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                let copied = piece.dropFirst(taken).copyBytes(to: target)
                filled += copied
                taken += copied
                guard taken == piece.count else { break }
                _ = pieces.popFirst()
                taken = 0
            }
            count -= filled
            return filled
        }
    }

    /// Calls `found` with nil if `stream` has ended, or else with an error: the stream has more bytes, or has failed. Closes it: nothing
    /// else of it is needed. On another thread, because reading the stream may block.
    static func findEnd(of stream: InputStream, url: URL?, found: @escaping @Sendable (URLError?) -> Void) {
        nonisolated(unsafe) let stream = stream
        WorkThreads.blocking.run {
            if stream.streamStatus == .notOpen { stream.open() }
            defer { stream.close() }
            var byte: UInt8 = 0
            switch stream.read(&byte, maxLength: 1) {
            case 0: found(nil)
            case 1...: found(tooLong(url))
            default: found(failed(url, error(of: stream)))
            }
        }
    }

    private static func tooLong(_ url: URL?) -> URLError {
        URLError(.dataLengthExceedsMaximum, url, "The body's stream has more bytes than its Content-Length says.")
    }

    private static func failed(_ url: URL?, _ reason: (any Error)?) -> URLError {
        guard let reason else { return URLError(.requestBodyStreamExhausted, url, "The body's stream failed.") }
        let text = "The body's stream failed: \(reason.localizedDescription)"
        return URLError(.requestBodyStreamExhausted, url, text, nil, [NSUnderlyingErrorKey: reason])
    }

    /// Foundation's getter of the error traps unless there is one, as with a stream that another task has used and closed.
    private static func error(of stream: InputStream) -> (any Error)? {
        stream.streamStatus == .error ? stream.streamError : nil
    }

    /// How much is read ahead, in bytes.
    private static let highMark = 512 * 1024
    fileprivate static let readSize = 64 * 1024

    /// `length` is nil if unknown; then the body is sent chunked. A shorter stream fails the task, and so does a longer one.
    init(_ stream: InputStream, length: Int64?, url: URL?, becameReadable: @escaping @Sendable () -> Void) {
        self.stream = stream
        self.length = length
        self.url = url
        self.becameReadable = becameReadable
    }

    /// Whether bytes have been asked for, and the stream isn't what it was.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    // MARK: - The loop's side

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        enum Found { case bytes(Int), tooMany, nothing, end(End) }
        let found: Found = state.withLock { state in
            state.hasBegun = true
            guard state.buffer.count == 0 else {
                // Bytes beyond the announced length would be taken for another request.
                if let length, state.read > length { return .tooMany }
                let count = state.buffer.take(into: buffer)
                state.delivered += Int64(count)
                return .bytes(count)
            }
            if let end = state.end { return .end(end) }
            state.isAwaited = true
            return .nothing
        }
        switch found {
        case .bytes(let count):
            startReading()
            return .bytes(count)
        case .tooMany:
            throw Self.tooLong(url)
        case .nothing:
            startReading()
            return .notYet
        case .end(.complete):
            if let length, state.withLock({ $0.delivered }) < length {
                throw URLError(.requestBodyStreamExhausted, url, "The body's stream ended before its Content-Length.")
            }
            return .bytes(0)
        case .end(.failed(let reason)):
            throw Self.failed(url, reason)
        }
    }

    func seek(to offset: Int64) -> Bool {
        offset == 0 && state.withLock { $0.delivered } == 0
    }

    /// A stream that is being read is closed when its read returns, however long that takes: streams can't be closed under a read.
    func close() {
        let isFree = state.withLock { state in
            defer { state.isClosed = true }
            state.buffer = Pieces()
            return state.hasBegun && !state.isReading && !state.isClosed
        }
        if isFree { WorkThreads.blocking.run { self.stream.close() } }
    }

    // MARK: - The reader's side

    /// Makes a thread read until enough is buffered, unless one does. Any thread.
    private func startReading() {
        let starts = state.withLock { state in
            guard !state.isReading, state.end == nil, !state.isClosed, state.buffer.count < Self.highMark else {
                return false
            }
            state.isReading = true
            return true
        }
        if starts { WorkThreads.blocking.run { self.readAhead() } }
    }

    private func readAhead() {
        // The first time, which ends with bytes or the stream's end. Later, a subclass's status may still say that it isn't open.
        if state.withLock({ $0.read }) == 0, stream.streamStatus == .notOpen { stream.open() }
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.readSize + 1)
        defer { buffer.deallocate() }
        var wantsMore = true
        var isClosed = false
        while wantsMore {
            let count = stream.read(buffer, maxLength: nextReadSize)
            let isAwaited = state.withLock { state in
                if count > 0 {
                    state.read += Int64(count)
                    state.buffer.append(buffer, count: count)
                } else {
                    state.end = count == 0 ? .complete : .failed(Self.error(of: stream))
                }
                isClosed = state.isClosed
                wantsMore = count > 0 && !isClosed && state.buffer.count < Self.highMark
                if !wantsMore { state.isReading = false }
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { becameReadable() }
        }
        if isClosed { stream.close() }
    }

    /// With the last bytes, one byte more than the announced length is requested, so a stream that is too long fails before everything was
    /// sent. A stream that blocks there gets time to end.
    private var nextReadSize: Int {
        guard let length else { return Self.readSize }
        let rest = length - state.withLock { $0.read }
        return rest <= Int64(Self.readSize) ? Int(max(0, rest)) + 1 : Self.readSize
    }
}
