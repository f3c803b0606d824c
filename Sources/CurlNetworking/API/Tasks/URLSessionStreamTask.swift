import Foundation

/// A task that reads from and writes to a TCP connection, plain or over TLS.
///
/// Created by ``URLSession/streamTask(withHostName:port:)``, or from a data task whose delegate answers with
/// ``URLSession/ResponseDisposition/becomeStream``. The session's proxies, host overrides, TLS settings and time-outs apply as they do to
/// requests; see <doc:StreamTasks>.
///
/// Reads are performed in the order of the calls, as are writes; neither waits for the other. Both may be queued before the task is
/// resumed. Every handler is called exactly once, on the session's delegate queue: before the task completes, or soon after a call on a
/// completed task. The exception is a task that is released without having been resumed or cancelled: its handlers are never called. All
/// methods may be called from any thread; none blocks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask>
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {
    // @unchecked: this class stores nothing of its own.

    /// The original request; nil if the task was created for a host.
    open override var originalRequest: URLRequest? { Self.shown(super.originalRequest) }

    /// The current request; nil if the task was created for a host.
    open override var currentRequest: URLRequest? { Self.shown(super.currentRequest) }

    private static func shown(_ request: URLRequest?) -> URLRequest? {
        request?.url.flatMap(Scheme.init) == .tcp ? nil : request
    }

    private func add(_ operation: StreamPort.Operation, else fail: (URLError) -> Void = { _ in }) {
        guard let engine else { return fail(URLError(.unknown, url: nil, "The task belongs to no session.")) }
        engine.add(operation)
    }

    /// nil for no time-out: zero, or a value that isn't a valid interval.
    private static func timeout(_ seconds: TimeInterval) -> Duration? {
        seconds > 0 && seconds.isFinite ? Duration(timeInterval: seconds) : nil
    }

    // MARK: - Reading

    /// Reads at least `minBytes` and at most `maxBytes` bytes.
    ///
    /// - Parameters:
    ///   - minBytes: The minimum; 0 counts as 1.
    ///   - maxBytes: The maximum; further bytes go to the next read. If it is less than the minimum, or than 1, the read fails with
    ///     `URLError.dataLengthExceedsMaximum`.
    ///   - timeout: The time-out in seconds, from when it is the read's turn and there is a connection; 0 for none. A read that takes
    ///     longer fails with `URLError.timedOut`, and the bytes received for it go to the next read.
    ///   - completionHandler: Receives the bytes, whether the peer's stream ended with them, and an error. At the end, there may be fewer
    ///     bytes than the minimum, or none. If the connection fails first, it receives the bytes that arrived before, and the error.
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

    /// Reads bytes, and returns them and whether they are the last. If the read throws, the bytes received for it go to the next read,
    /// unless the task was cancelled. Cancelling the waiting Swift task doesn't end the read; see <doc:ErrorCodes>.
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
    ///   - timeout: The time-out in seconds, from when it is the write's turn and there is a connection; 0 for none. If a write takes
    ///     longer, it is unknown how much of it was sent, so later writes also fail. Reading continues.
    ///   - completionHandler: Called with nil once the system has accepted all bytes; the peer may not have received them yet.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/write(_:timeout:completionhandler:)>
    open func write(
        _ data: Data,
        timeout: TimeInterval,
        completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        add(.write(data, timeout: Self.timeout(timeout), .handler(completionHandler))) { completionHandler($0) }
    }

    /// Writes all of `data`, and returns once the system has accepted all bytes. Cancelling the waiting Swift task doesn't end the write.
    open func write(_ data: Data, timeout: TimeInterval) async throws {
        let timeout = Self.timeout(timeout)
        try await withUnsafeThrowingContinuation { continuation in
            add(.write(data, timeout: timeout, .continuation(continuation))) { continuation.resume(throwing: $0) }
        }
    }

    // MARK: - The connection

    /// Completes pending reads and writes, and hands over the connection: the delegate receives two streams in
    /// `urlSession(_:streamTask:didBecome:outputStream:)`. This ends the task: there are no further messages about it, and later reads and
    /// writes fail.
    ///
    /// The streams support blocking calls, use with or without a run loop, and TLS. A connection on which libcurl itself speaks TLS, such
    /// as one to a proxy over TLS, can't be handed over; the task then fails.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/capturestreams()>
    open func captureStreams() {
        add(.transition(.capture))
    }

    /// Completes pending writes, and tells the peer that no more data follows. Reading continues.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/closewrite()>
    open func closeWrite() {
        add(.closeWrite)
    }

    /// Completes pending reads, and reads nothing more. Writing continues.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/closeread()>
    open func closeRead() {
        add(.closeRead)
    }

    /// Completes pending reads and writes, and continues over TLS as the client: from the beginning, or in the middle of a conversation, as
    /// with STARTTLS. Later reads and writes wait for the handshake.
    ///
    /// The server's certificate, including its name, is verified like an https server's. The delegate receives the same challenges about
    /// the connection in ``URLSessionTaskDelegate/urlSession(_:task:didReceive:completionHandler:)``, or, if it doesn't implement that, in
    /// ``URLSessionDelegate/urlSession(_:didReceive:completionHandler:)``. If TLS can't be started, the task fails. Needs a libcurl that
    /// uses OpenSSL. Options about TLS that ``CurlOptions/configureTransfer`` sets can't be applied, and fail the task, too.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/startsecureconnection()>
    open func startSecureConnection() {
        add(.transition(.startTLS))
    }

    /// Completes pending reads and writes, ends TLS, and continues in plain text once the peer has also ended it. No effect without TLS.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask/stopsecureconnection()>
    open func stopSecureConnection() {
        add(.transition(.stopTLS))
    }
}

extension _URLSessionAdditions where Self: URLSession {
    /// Creates a task for a TCP connection to `hostname`, a name or address, and `port`.
    ///
    /// The task connects when it is resumed. If the host or the port isn't valid, it fails with `URLError.badURL`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/streamtask(withhostname:port:)>
    public func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        introduce(URLSessionStreamTask(engine: makeStreamEngine(hostname, port)))
    }
}
