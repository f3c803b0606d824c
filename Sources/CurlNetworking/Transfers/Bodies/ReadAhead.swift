import CurlNetworkingLocks
import Foundation

/// A source of a request's body whose reads may block. Used by one thread at a time.
protocol BlockingSource: AnyObject {
    /// Puts the next bytes into `buffer`. Returns how many; 0 at the end. Not called again after that, nor after it has thrown.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> Int

    /// Called when nothing more is wanted. Not called if nothing was ever read.
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
        var phase = Phase.untouched
        /// Whether the loop is to be told when there are bytes.
        var isAwaited = false

        /// Takes the result of a read into `bytes`.
        mutating func take(_ read: Result<Int, URLError>, from bytes: UnsafeMutableRawBufferPointer) {
            switch read {
            case .success(0): phase = .ended(.complete)
            case .failure(let error): phase = .ended(.failed(error))
            case .success(let count):
                buffer.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                if buffer.count >= ReadAhead.highMark { phase = .idle }
            }
        }
    }

    private enum Phase {
        /// The loop hasn't asked for bytes.
        case untouched
        /// Enough is buffered.
        case idle
        /// A thread has the source.
        case reading
        /// A thread has the source, and closes it when its read returns.
        case closing
        case ended(End)
        case closed
    }

    private enum End {
        case complete
        case failed(URLError)
    }

    /// Bytes in order, in pieces that are released as they are taken: a single `Data` would keep everything that was ever in it until it is
    /// empty.
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

    /// Bytes that arrive after the source has failed are no longer delivered.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        let found: Result<BodyRead, URLError> = state.withLock { state in
            if state.buffer.count > 0 { return .success(.bytes(state.buffer.take(into: buffer))) }
            switch state.phase {
            case .ended(.complete): return .success(.bytes(0))
            case .ended(.failed(let error)): return .failure(error)
            case .untouched: state.phase = .idle
            case .idle, .reading, .closing, .closed: break
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
            state.buffer = Pieces()
            switch state.phase {
            case .idle, .ended:
                state.phase = .closed
                return true
            case .reading, .closing:
                state.phase = .closing
                return false
            case .untouched, .closed:
                state.phase = .closed
                return false
            }
        }
        if isFree { threads.run { self.source.close() } }
    }

    // MARK: - The reader's side

    /// Makes a thread read until enough is buffered, unless one already does. Any thread.
    private func startReading() {
        let starts = state.withLock { state in
            guard case .idle = state.phase, state.buffer.count < Self.highMark else { return false }
            state.phase = .reading
            return true
        }
        if starts { threads.run { self.readAhead() } }
    }

    private func readAhead() {
        // One byte more than a piece, so that a source can look for its end.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize + 1, alignment: 1)
        defer { buffer.deallocate() }
        var phase = Phase.reading
        while case .reading = phase {
            let read = Result { () throws(URLError) in try source.read(into: buffer) }
            let isAwaited = state.withLock { state in
                if case .closing = state.phase {
                    state.phase = .closed
                } else {
                    state.take(read, from: buffer)
                }
                phase = state.phase
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { becameReadable() }
        }
        if case .closed = phase { source.close() }
    }
}
