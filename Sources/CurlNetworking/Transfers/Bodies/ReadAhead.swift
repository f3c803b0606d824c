import CurlNetworkingLocks
import Foundation

/// What a request's body comes from, if reading it may block. Used by one thread at a time.
protocol BlockingSource: AnyObject {
    /// Puts the next bytes into `buffer`. Returns how many; 0 at the end. Not called again after that, nor after it has thrown.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> Int

    /// Nothing more is wanted. Not called if nothing was ever read.
    func close()
}

/// Lets a thread read a source ahead of the loop, within bounds. Nothing touches the source before the loop asks for bytes.
///
/// `@unchecked Sendable`: `state` guards what both sides touch; the source is touched by one thread at a time, never by the loop.
final class ReadAhead: @unchecked Sendable {
    private let source: any BlockingSource
    private let threads: WorkThreads
    /// Called on the reading thread when bytes are available again.
    private let becameReadable: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var buffer = Pieces()
        var end: End?
        var hasBegun = false
        /// A thread has the source.
        var isReading = false
        var isAwaited = false
        var isClosed = false
    }

    private enum End {
        case complete
        case failed(URLError)
    }

    /// Bytes in order, in pieces that are released as they are taken: a single `Data` would keep all that was ever in it as long as it isn't empty.
    private struct Pieces {
        private(set) var count = 0
        private var pieces = Fifo<Data>()
        /// How much of the first piece has been taken.
        private var taken = 0

        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            // A stream may give its bytes one by one.
            let hasRoom = pieces.last.map { $0.count + bytes.count <= ReadAhead.readSize } ?? false
            if hasRoom {
                pieces.updateLast { $0.append(contentsOf: bytes) }
            } else {
                pieces.append(Data(bytes))
            }
            count += bytes.count
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

    /// How much is read ahead, in bytes.
    private static let highMark = 512 * 1024
    private static let readSize = 64 * 1024

    init(_ source: any BlockingSource, on threads: WorkThreads, becameReadable: @escaping @Sendable () -> Void) {
        self.source = source
        self.threads = threads
        self.becameReadable = becameReadable
    }

    // MARK: - The loop's side

    /// Bytes that come after the source has failed are not delivered any more.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        let found: Result<BodyRead, URLError> = state.withLock { state in
            state.hasBegun = true
            if state.buffer.count > 0 { return .success(.bytes(state.buffer.take(into: buffer))) }
            switch state.end {
            case .complete: return .success(.bytes(0))
            case .failed(let error): return .failure(error)
            case nil: break
            }
            state.isAwaited = true
            return .success(.notYet)
        }
        let read = try found.get()
        startReading()
        return read
    }

    /// A source that is being read is closed when its read returns, however long that takes.
    func close() {
        let isFree = state.withLock { state in
            defer { state.isClosed = true }
            state.buffer = Pieces()
            return state.hasBegun && !state.isReading && !state.isClosed
        }
        if isFree { threads.run { self.source.close() } }
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
        if starts { threads.run { self.readAhead() } }
    }

    private func readAhead() {
        // One byte more than a piece, so that a source can look for its end.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize + 1, alignment: 1)
        defer { buffer.deallocate() }
        var wantsMore = true
        var isClosed = false
        while wantsMore {
            let read = Result { () throws(URLError) in try source.read(into: buffer) }
            let isAwaited = state.withLock { state in
                switch read {
                case .success(0): state.end = .complete
                case .success(let count): state.buffer.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                case .failure(let error): state.end = .failed(error)
                }
                isClosed = state.isClosed
                wantsMore = state.end == nil && !isClosed && state.buffer.count < Self.highMark
                if !wantsMore { state.isReading = false }
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { becameReadable() }
        }
        if isClosed { source.close() }
    }
}
