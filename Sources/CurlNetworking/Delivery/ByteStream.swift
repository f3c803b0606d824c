import Foundation
import CurlNetworkingLocks

/// The body of one task on its way to a Swift task that reads it. Bounded, with one reader at a time.
///
/// The loop writes and the reader reads; each may be on any thread.
final class ByteStream: Sendable {
    private let state = Mutex(State())
    /// Called when the reader has caught up, and when it has gone away. Any thread.
    private let caughtUp: @Sendable () -> Void
    private let abandoned: @Sendable () -> Void

    private struct State {
        var body = BodyBuffer()
        var response: Result<TaskResponse, URLError>?
        /// How the body ended.
        var end: Result<Void, URLError>?
        var responseWaiter: UnsafeContinuation<TaskResponse, any Error>?
        var reader: UnsafeContinuation<Data?, any Error>?
        /// The reader that was given bytes, or waits for them; nil before the first.
        var served: ObjectIdentifier?
        /// The size of the last piece given, which counts until the next one is asked for.
        private var given = 0

        /// The next piece.
        mutating func give() -> Data? {
            guard let piece = body.popFirst() else { return nil }
            given = piece.count
            return piece
        }

        /// What a reader gets at once; nil if it has to wait, as the one reader that may.
        mutating func serve(
            _ served: ObjectIdentifier,
            orWait reader: UnsafeContinuation<Data?, any Error>
        ) -> Result<Data?, URLError>? {
            if let piece = give() {
                self.served = served
                return .success(piece)
            }
            if let end { return end.map { nil } }
            guard self.reader == nil else {
                return .failure(URLError(.cannotLoadFromNetwork, url: nil, "Two readers read one body at once."))
            }
            (self.reader, self.served) = (reader, served)
            return nil
        }

        /// Returns true if the reader has caught up.
        mutating func takeBack() -> Bool {
            defer { given = 0 }
            return body.consumed(given)
        }
    }

    init(caughtUp: @escaping @Sendable () -> Void, abandoned: @escaping @Sendable () -> Void) {
        self.caughtUp = caughtUp
        self.abandoned = abandoned
    }

    // MARK: - The loop's side

    func respond(_ response: TaskResponse) {
        let waiter = state.withLock { state in
            state.response = .success(response)
            return state.responseWaiter.take()
        }
        waiter?.resume(returning: response)
    }

    /// A waiting reader, and its result. Resuming it takes locks of the concurrency runtime, which the runtime also holds while it calls a
    /// cancellation handler: so never resume it while holding a lock.
    struct PendingRead: Sendable {
        fileprivate let reader: UnsafeContinuation<Data?, any Error>
        fileprivate let piece: Data

        func run() {
            reader.resume(returning: piece)
        }
    }

    /// Copies body bytes in. The transfer should pause if it `isFull`; the caller runs the delivery.
    func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> (isFull: Bool, delivery: PendingRead?) {
        state.withLock { state in
            let isFull = state.body.append(bytes, expected: expected)
            guard let reader = state.reader, let piece = state.give() else { return (isFull, nil) }
            state.reader = nil
            return (isFull, PendingRead(reader: reader, piece: piece))
        }
    }

    /// Whether more bytes wait for the reader than allowed.
    var isBehind: Bool { state.withLock { $0.body.isAboveHighMark } }

    /// The body is complete or has failed. Bytes still waiting can be read, unless the task was cancelled.
    func finish(_ error: URLError?) {
        let (waiter, reader) = state.withLock { state in
            if error?.code == .cancelled { state.body.removeAll() }
            state.end = error.map { .failure($0) } ?? .success(())
            if state.response == nil, let error { state.response = .failure(error) }
            return (state.responseWaiter.take(), state.reader.take())
        }
        if let error {
            waiter?.resume(throwing: error.shown)
            reader?.resume(throwing: error.shown)
        } else {
            reader?.resume(returning: nil)
        }
    }

    // MARK: - The reader's side

    func response() async throws -> URLResponse {
        let response: TaskResponse = try await withUnsafeThrowingContinuation { continuation in
            let known = state.withLock { state in
                if state.response == nil { state.responseWaiter = continuation }
                return state.response
            }
            if let known { continuation.resume(with: known.mapError(\.shown)) }
        }
        return response.object
    }

    /// The next piece; nil at the end. Cancelling the Swift task cancels the transfer.
    func next(
        for reader: AnyObject & Sendable,
        isolation actor: isolated (any Actor)?
    ) async throws -> Data? {
        if state.withLock({ $0.takeBack() }) { caughtUp() }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let known = state.withLock { $0.serve(ObjectIdentifier(reader), orWait: continuation) }
                if let known { continuation.resume(with: known.mapError(\.shown)) }
            }
        } onCancel: {
            abandon()
        }
    }

    /// `reader` has stopped reading. This ends the transfer, unless it never read, or another reader has taken over.
    func left(by reader: AnyObject) {
        if state.withLock({ $0.served == ObjectIdentifier(reader) }) { abandon() }
    }

    /// Ends the transfer, as no reader is left.
    func abandon() {
        abandoned()
    }
}
