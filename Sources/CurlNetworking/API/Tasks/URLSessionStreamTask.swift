import Foundation

/// A connection over TCP that the program reads from and writes to, plain or over TLS.
///
/// Made by ``URLSession/streamTask(withHostName:port:)``, or from a data task whose delegate answers with
/// ``URLSession/ResponseDisposition/becomeStream``. The session's proxies, host overrides, TLS settings and time-outs apply as they do to
/// requests: see <doc:StreamTasks>.
///
/// Reads are carried out in the order of the calls, and so are writes; neither waits for the other. They may be queued before the task is
/// resumed. Every handler is called exactly once, on the session's delegate queue: before the task completes, or soon if the call comes
/// after that. The exception is a task that is dropped without having been resumed or cancelled: its handlers are never called. Any
/// thread may call any method; none blocks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask>
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {
    // @unchecked: this class stores nothing of its own.

    /// nil if the task was made for a host: there is no request.
    open override var originalRequest: URLRequest? { Self.shown(super.originalRequest) }

    /// nil if the task was made for a host: there is no request.
    open override var currentRequest: URLRequest? { Self.shown(super.currentRequest) }

    private static func shown(_ request: URLRequest?) -> URLRequest? {
        request?.url.flatMap(Scheme.init) == .tcp ? nil : request
    }

    private func add(_ wish: StreamPort.Wish, else fail: (URLError) -> Void = { _ in }) {
        guard let engine else { return fail(URLError(.unknown, nil, "The task belongs to no session.")) }
        engine.add(wish)
    }

    /// nil for no time-out: for zero, and for values that aren't an interval.
    private static func timeout(_ seconds: TimeInterval) -> Duration? {
        seconds > 0 && seconds.isFinite ? Duration(timeInterval: seconds) : nil
    }

    // MARK: - Reading

    /// Reads at least `minBytes` and at most `maxBytes` bytes.
    ///
    /// - Parameters:
    ///   - minBytes: 0 counts as 1.
    ///   - maxBytes: Bytes beyond that go to the next read. If it is less than the minimum, or than 1, the read fails with
    ///     `URLError.dataLengthExceedsMaximum`.
    ///   - timeout: In seconds, from when the read's turn has come and there is a connection; 0 for none. A read that takes longer fails with
    ///     `URLError.timedOut`, and the bytes that came for it go to the next read.
    ///   - completionHandler: Gets the bytes, whether the other side has ended and these were the last, and an error. At the end there may
    ///     be fewer bytes than the minimum, or none. If the connection fails first, it gets the bytes that came before, and the error.
    ///
    /// Source:
    /// <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/readdata(ofminlength:maxlength:timeout:completionhandler:)>
    open func readData(
        ofMinLength minBytes: Int,
        maxLength maxBytes: Int,
        timeout: TimeInterval,
        completionHandler: @escaping @Sendable (Data?, Bool, (any Error)?) -> Void
    ) {
        add(.read(minimum: minBytes, maximum: maxBytes, timeout: Self.timeout(timeout), .handler(completionHandler))) {
            completionHandler(nil, false, $0)
        }
    }

    /// The async form of reading: returns the bytes, and whether they are the last. If it throws, the bytes that came for it go to the next
    /// read, unless the task was cancelled. Cancelling the Swift task that waits doesn't end it; see <doc:ErrorCodes>.
    open func readData(
        ofMinLength minBytes: Int,
        maxLength maxBytes: Int,
        timeout: TimeInterval
    ) async throws -> (Data?, Bool) {
        let timeout = Self.timeout(timeout)
        return try await withUnsafeThrowingContinuation { continuation in
            add(.read(minimum: minBytes, maximum: maxBytes, timeout: timeout, .continuation(continuation))) {
                continuation.resume(throwing: $0)
            }
        }
    }

    // MARK: - Writing

    /// Writes all of `data`.
    ///
    /// - Parameters:
    ///   - data: Written after the data of earlier calls.
    ///   - timeout: In seconds, from when the write's turn has come and there is a connection; 0 for none. After a write that takes
    ///     longer it isn't known how much of it was sent, so later writes fail as well. Reading continues.
    ///   - completionHandler: Called with nil once the system has all of the bytes; the other side may not have them yet.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/write(_:timeout:completionhandler:)>
    open func write(
        _ data: Data,
        timeout: TimeInterval,
        completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        add(.write(data, timeout: Self.timeout(timeout), .handler(completionHandler))) { completionHandler($0) }
    }

    /// The async form of writing: returns once the system has all of the bytes. Cancelling the Swift task that waits doesn't end it.
    open func write(_ data: Data, timeout: TimeInterval) async throws {
        let timeout = Self.timeout(timeout)
        try await withUnsafeThrowingContinuation { continuation in
            add(.write(data, timeout: timeout, .continuation(continuation))) { continuation.resume(throwing: $0) }
        }
    }

    // MARK: - The connection

    /// Completes the reads and writes so far, and hands the connection over: the delegate gets two streams in
    /// `urlSession(_:streamTask:didBecome:outputStream:)`. That ends the task: no further messages are sent about it, and later reads and
    /// writes fail.
    ///
    /// The streams work with blocking calls, with or without a run loop, and over TLS as well. A connection on which libcurl itself speaks
    /// TLS, such as one to a proxy over TLS, can't be handed over: then the task fails.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/capturestreams()>
    open func captureStreams() {
        add(.transition(.capture))
    }

    /// Completes the writes so far, and tells the other side that there are no more. Reading continues.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/closewrite()>
    open func closeWrite() {
        add(.closeWrite)
    }

    /// Completes the reads so far, and reads nothing more. Writing continues.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/closeread()>
    open func closeRead() {
        add(.closeRead)
    }

    /// Completes the reads and writes so far, and continues over TLS, as the client: from the beginning, or in the middle of a
    /// conversation, as with STARTTLS. Later reads and writes wait for the handshake.
    ///
    /// The server's certificate, including its name, is verified like an https server's. The delegate gets the same challenges about the
    /// connection in ``URLSessionTaskDelegate/urlSession(_:task:didReceive:completionHandler:)``, or, if it doesn't implement that, in
    /// ``URLSessionDelegate/urlSession(_:didReceive:completionHandler:)``. If TLS can't begin, the task fails. Needs a libcurl that uses
    /// OpenSSL.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/startsecureconnection()>
    open func startSecureConnection() {
        add(.transition(.startTLS))
    }

    /// Completes the reads and writes so far, ends TLS, and continues in plain text once the other side has ended it, too. Without TLS,
    /// nothing happens.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/stopsecureconnection()>
    open func stopSecureConnection() {
        add(.transition(.stopTLS))
    }
}

extension URLSession {
    /// A task for a connection over TCP to `hostname`, a name or an address, and `port`.
    ///
    /// The task connects when it is resumed. If the host or the port isn't valid, it fails with `URLError.badURL`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/streamtask(withhostname:port:)>
    public func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        introduce(URLSessionStreamTask(engine: makeStreamEngine(hostname, port)))
    }
}
