import CurlNetworkingLocks
import CurlTransport
import Foundation
import Glibc

/// A connection that a program has taken from its stream task: it has the socket to itself, and needs neither session nor event loop.
///
/// Calls block as a socket's do. Any thread; one reader and one writer at a time.
///
/// `@unchecked Sendable`: `state` is guarded, and the descriptor, which doesn't block by itself, never changes.
final class CapturedConnection: @unchecked Sendable {
    enum Result {
        case count(Int)
        case end
        case failed(URLError)
    }

    /// The program's own, closed with the connection: what libcurl closes is another.
    let descriptor: Int32
    private let state: Mutex<State>

    /// `@unchecked Sendable`: TLS is this connection's alone.
    fileprivate struct State: @unchecked Sendable {
        /// Read, and not the program's yet.
        var surplus: Data
        /// What a look for bytes has found instead; nothing is read after it.
        var ending: Result?
        /// Somebody waits in `read`: what comes is theirs.
        var isAwaited = false
        let tls: TLSClient?
        /// Encrypted, and not with the system yet.
        var unsent: [UInt8] = []
        var isReadClosed = false
        var isWriteClosed = false
    }

    /// nil where there are no descriptors left. `socket` stays its owner's.
    init?(_ socket: Int32, _ tls: TLSClient?, surplus: Data) {
        let descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        state = Mutex(State(surplus: surplus, tls: tls))
    }

    deinit {
        Glibc.close(descriptor)
    }

    // MARK: - Reading

    /// Waits until there is something.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Result {
        guard !buffer.isEmpty else { return .count(0) }
        // The caller's, until this returns.
        nonisolated(unsafe) let buffer = buffer
        while true {
            let result = state.withLock { state in
                let result = state.read(into: buffer, from: descriptor)
                state.isAwaited = result == nil
                return result
            }
            if let result { return result }
            wait(for: POLLIN)
        }
    }

    /// Whether a read would find something at once, an end or an error among them.
    var mayRead: Bool {
        state.withLock { $0.lookForBytes(on: descriptor) } ?? isReady(for: POLLIN)
    }

    /// Nothing more is read. Whoever waits in `read` hears of the end.
    func closeReading() {
        state.withLock { $0.isReadClosed = true }
        shutdown(descriptor, Int32(SHUT_RD))
    }

    // MARK: - Writing

    /// Waits until some of the bytes are with the system; over TLS up to a record of them.
    func write(_ bytes: UnsafeRawBufferPointer) -> Result {
        guard !bytes.isEmpty else { return .count(0) }
        nonisolated(unsafe) let bytes = bytes
        var written: Int?
        while true {
            let result = state.withLock { state -> Result? in
                if let written { return state.finishWriting(written, to: descriptor) }
                return state.write(bytes, to: descriptor, written: &written)
            }
            if let result { return result }
            wait(for: POLLOUT)
        }
    }

    var mayWrite: Bool { isReady(for: POLLOUT) }

    /// The other side hears that nothing more comes. Over TLS this waits until the system has room for saying so, but not for long.
    func closeWriting() {
        let end = MonotonicTime.now + Self.closingTime
        while case nil = state.withLock({ $0.close(descriptor) }), wait(for: POLLOUT, until: end) {}
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// How long the end of TLS may wait for another side that reads nothing.
    private static let closingTime = Duration.seconds(5)

    // MARK: - Waiting

    /// False where time is up.
    private func wait(for event: Int32, until end: MonotonicTime) -> Bool {
        let now = MonotonicTime.now
        guard now < end else { return false }
        wait(for: event, upTo: Int32((end - now).count(of: .milliseconds(1))))
        return true
    }

    private func isReady(for event: Int32) -> Bool { wait(for: event, upTo: 0) }

    /// True if the event, or an error, has come within so many milliseconds; negative for however long it takes.
    @discardableResult
    private func wait(for event: Int32, upTo milliseconds: Int32 = -1) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}

extension CapturedConnection.State {
    /// What one call carries, in bytes: a record of TLS (RFC 8446 §5.1).
    private static let recordSize = 16 * 1024

    /// Whether there is something to read; nil where the socket can tell. Over TLS it can't: a record may have come in part, carry nothing
    /// for the program, or have been received with the one before it.
    fileprivate mutating func lookForBytes(on descriptor: Int32) -> Bool? {
        guard surplus.isEmpty, ending == nil else { return true }
        guard tls != nil, !isAwaited else { return nil }
        var record = Data(count: Self.recordSize)
        switch record.withUnsafeMutableBytes({ read(into: $0, from: descriptor) }) {
        case .count(let count): surplus = record.prefix(count)
        case nil: return false
        case let found: ending = found
        }
        return true
    }

    /// nil where nothing is there yet.
    fileprivate mutating func read(
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32
    ) -> CapturedConnection.Result? {
        guard !isReadClosed else { return .end }
        if !surplus.isEmpty {
            let count = surplus.copyBytes(to: buffer)
            surplus = Data(surplus.dropFirst(count))
            return .count(count)
        }
        if let ending { return ending }
        guard let tls else { return Self.receive(into: buffer, from: descriptor) }
        do throws(TransferFailure) {
            return try read(tls, into: buffer, from: descriptor)
        } catch {
            return .failed(URLError(error, url: nil))
        }
    }

    private mutating func read(
        _ tls: TLSClient,
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32
    ) throws(TransferFailure) -> CapturedConnection.Result? {
        var record = [UInt8](repeating: 0, count: Self.recordSize)
        while true {
            let reading = try tls.read(into: buffer)
            unsent += tls.takeOutput()
            _ = flush(to: descriptor)
            switch reading {
            case .bytes(let count): return .count(count)
            case .closed: return .end
            case .needsInput: break
            }
            switch record.withUnsafeMutableBytes({ Self.receive(into: $0, from: descriptor) }) {
            case .count(let count):
                try record.withUnsafeBytes { bytes in
                    Swift.Result { () throws(TransferFailure) in
                        try tls.receive(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                    }
                }.get()
            case .end: throw .truncatedTLS
            case let other: return other
            }
        }
    }

    private static func receive(
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32
    ) -> CapturedConnection.Result? {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .count(count) }
        return count == 0 ? .end : failureUnlessBlocked()
    }

    /// nil where nothing could be written yet. Over TLS the bytes are on their way once `written` says how many: then `flush` goes on.
    fileprivate mutating func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        written: inout Int?
    ) -> CapturedConnection.Result? {
        guard !isWriteClosed else { return .failed(StreamFailure.writeClosed.error(about: nil)) }
        guard let tls else { return Self.send(bytes, to: descriptor) }
        guard let flushed = flush(to: descriptor) else { return nil }
        if case .failed = flushed { return flushed }
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.recordSize))
        do throws(TransferFailure) {
            try tls.write(piece)
        } catch {
            return .failed(URLError(error, url: nil))
        }
        unsent += tls.takeOutput()
        written = piece.count
        return finishWriting(piece.count, to: descriptor)
    }

    /// nil where some is left.
    fileprivate mutating func finishWriting(_ count: Int, to descriptor: Int32) -> CapturedConnection.Result? {
        guard let flushed = flush(to: descriptor) else { return nil }
        if case .failed = flushed { return flushed }
        return .count(count)
    }

    /// Ends TLS; nil where some of what that takes is left.
    fileprivate mutating func close(_ descriptor: Int32) -> CapturedConnection.Result? {
        if let tls, !isWriteClosed {
            tls.close()
            unsent += tls.takeOutput()
        }
        isWriteClosed = true
        return flush(to: descriptor)
    }

    /// Sends what is encrypted already; nil where some is left.
    fileprivate mutating func flush(to descriptor: Int32) -> CapturedConnection.Result? {
        while !unsent.isEmpty {
            switch unsent.withUnsafeBytes({ Self.send($0, to: descriptor) }) {
            case .count(let count): unsent.removeFirst(count)
            case let other: return other
            }
        }
        return .count(0)
    }

    private static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> CapturedConnection.Result? {
        let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        return count >= 0 ? .count(count) : failureUnlessBlocked()
    }

    private static func failureUnlessBlocked() -> CapturedConnection.Result? {
        let error = SystemError.current
        guard error.code != EAGAIN, error.code != EINTR else { return nil }
        return .failed(URLError(.networkConnectionLost, nil, "The connection is lost: \(error).", error))
    }
}
