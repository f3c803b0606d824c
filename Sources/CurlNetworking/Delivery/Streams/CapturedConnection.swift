import CurlNetworkingLocks
import CurlTransport
import Foundation
import Glibc

/// A connection that a program has captured from its stream task: it has the socket to itself, and needs neither the session nor its event
/// loop.
///
/// Calls block as on a socket. Any thread; one reader and one writer at a time.
///
/// `@unchecked Sendable`: `state` is guarded, and the descriptor, which is non-blocking itself, never changes.
final class CapturedConnection: @unchecked Sendable {
    enum Result {
        case count(Int)
        case end
        case failed(URLError)
    }

    /// A duplicate of libcurl's descriptor, closed with the connection.
    let descriptor: Int32
    private let state: Mutex<State>

    /// `@unchecked Sendable`: TLS is this connection's alone.
    fileprivate struct State: @unchecked Sendable {
        /// Bytes that were read and haven't been handed to the program yet.
        var surplus: Data
        /// The end or error found by looking for bytes; nothing is read after it.
        var ending: Result?
        /// The reset that a plain-text write met. The system reports it only once; a later read finds the end, as if the other side had
        /// sent everything.
        var reset: URLError?
        /// Whether a thread waits in `read`, which gets the bytes that arrive.
        var isAwaited = false
        let tls: TLSClient?
        /// Encrypted bytes that the system hasn't taken yet.
        var unsent: [UInt8] = []
        var isReadClosed = false
        var isWriteClosed = false
    }

    /// nil if no descriptors are left. The caller still owns `socket`.
    init?(_ socket: Int32, tls: TLSClient?, surplus: Data) {
        let descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        state = Mutex(State(surplus: surplus, tls: tls))
    }

    deinit {
        Glibc.close(descriptor)
    }

    // MARK: - Reading

    /// Waits until there are bytes, the end, or an error.
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

    /// Whether a read would return at once, possibly with the end or an error.
    var mayRead: Bool {
        state.withLock { $0.lookForBytes(on: descriptor) } ?? isReady(for: POLLIN)
    }

    /// Closes the read side. A thread that waits in `read` gets the end.
    func closeReading() {
        state.withLock { $0.isReadClosed = true }
        shutdown(descriptor, Int32(SHUT_RD))
    }

    // MARK: - Writing

    /// Waits until the system has taken some of the bytes; over TLS, at most one record of them.
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

    /// Tells the other side that nothing more follows. Over TLS this waits until the system has room for the alert, but not for long.
    func closeWriting() {
        let end = MonotonicTime.now + Self.closingTime
        while case nil = state.withLock({ $0.close(descriptor) }), wait(for: POLLOUT, until: end) {}
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// How long ending TLS may take if the other side reads nothing.
    private static let closingTime = Duration.seconds(5)

    // MARK: - Waiting

    /// Returns false when the time is up.
    private func wait(for event: Int32, until end: MonotonicTime) -> Bool {
        let now = MonotonicTime.now
        guard now < end else { return false }
        wait(for: event, upTo: Int32((end - now).count(of: .milliseconds(1))))
        return true
    }

    private func isReady(for event: Int32) -> Bool { wait(for: event, upTo: 0) }

    /// Returns true if the event, or an error, occurred within that many milliseconds; a negative number waits indefinitely.
    @discardableResult
    private func wait(for event: Int32, upTo milliseconds: Int32 = -1) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}

extension CapturedConnection.State {
    /// The most that one call carries, in bytes: a TLS record (RFC 8446 §5.1).
    private static let recordSize = 16 * 1024

    /// Whether there is something to read; nil if only the socket can tell. Over TLS it can't: a record may have arrived in part, carry
    /// nothing for the program, or have been received with the one before it.
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

    /// nil if nothing is there yet.
    fileprivate mutating func read(
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32
    ) -> CapturedConnection.Result? {
        guard !isReadClosed else { return .end }
        if !surplus.isEmpty {
            let count = surplus.copyBytes(to: buffer)
            surplus.consume(count)
            return .count(count)
        }
        if let ending { return ending }
        guard let tls else {
            let result = Self.receive(into: buffer, from: descriptor)
            if case .end = result, let reset { return .failed(reset) }
            return result
        }
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
            if unsent.isEmpty { tls.noteSent() }
            switch reading {
            case .bytes(let count): return .count(count)
            case .closed: return .end
            case .needsInput: break
            }
            switch record.withUnsafeMutableBytes({ Self.receive(into: $0, from: descriptor) }) {
            case .count(let count):
                try record.withBytes { bytes throws(TransferFailure) in
                    try tls.receive(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                }
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
        return count == 0 ? .end : result(of: count > 0 ? .success(count) : .failure(.current))
    }

    /// nil if nothing could be written yet. Over TLS, once `written` says how many bytes, they are encrypted: then `flush` sends them.
    fileprivate mutating func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        written: inout Int?
    ) -> CapturedConnection.Result? {
        guard !isWriteClosed else { return .failed(StreamFailure.writeClosed.error(about: nil)) }
        guard let tls else {
            let sent = Self.send(bytes, to: descriptor)
            // Reset before the other side ended the connection: after that, this would be EPIPE.
            if case .failure(let error) = sent, error.code == ECONNRESET { reset = Self.lost(by: error) }
            return Self.result(of: sent)
        }
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

    /// nil if some bytes are left.
    fileprivate mutating func finishWriting(_ count: Int, to descriptor: Int32) -> CapturedConnection.Result? {
        guard let flushed = flush(to: descriptor) else { return nil }
        if case .failed = flushed { return flushed }
        return .count(count)
    }

    /// Ends TLS; nil if some of the alert has yet to be sent.
    fileprivate mutating func close(_ descriptor: Int32) -> CapturedConnection.Result? {
        if let tls, !isWriteClosed {
            tls.close()
            unsent += tls.takeOutput()
        }
        isWriteClosed = true
        return flush(to: descriptor)
    }

    /// Sends the encrypted bytes; nil if some are left.
    fileprivate mutating func flush(to descriptor: Int32) -> CapturedConnection.Result? {
        while !unsent.isEmpty {
            switch Self.result(of: unsent.withUnsafeBytes { Self.send($0, to: descriptor) }) {
            case .count(let count): unsent.removeFirst(count)
            case let other: return other
            }
        }
        return .count(0)
    }

    private static func send(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32
    ) -> Swift.Result<Int, SystemError> {
        let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        return count >= 0 ? .success(count) : .failure(.current)
    }

    /// nil if the socket isn't ready.
    private static func result(of call: Swift.Result<Int, SystemError>) -> CapturedConnection.Result? {
        switch call {
        case .success(let count): .count(count)
        case .failure(let error) where error.code == EAGAIN || error.code == EINTR: nil
        case .failure(let error): .failed(lost(by: error))
        }
    }

    private static func lost(by error: SystemError) -> URLError {
        URLError(.networkConnectionLost, url: nil, "The connection is lost: \(error).", cause: error)
    }
}
