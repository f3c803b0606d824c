import Foundation

/// Messages about stream tasks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamdelegate>
public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
    /// Nothing more is read from the connection: a read has met the end of the other side's stream, or the program has closed the read
    /// side. There may still be bytes for further reads.
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

    /// Nothing more is written to the connection: the program has closed the write side, or a write has timed out.
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

    /// There is a better route to the host than the connection's. Never called on Linux, which doesn't report such routes.
    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

    /// The task's connection has become these two streams: the last message about the task. See ``URLSessionStreamTask/captureStreams()``.
    ///
    /// Neither stream is open yet. The connection is closed when both have been closed, or are no longer referenced.
    func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    )
}

extension URLSessionStreamDelegate {
    /// Passed on to the session's delegate.
    public func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.stream?.urlSession(session, readClosedFor: streamTask)
    }

    /// Passed on to the session's delegate.
    public func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.stream?.urlSession(session, writeClosedFor: streamTask)
    }

    /// Passed on to the session's delegate.
    public func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.stream?.urlSession(session, betterRouteDiscoveredFor: streamTask)
    }

    /// Passed on to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        next(session, streamTask)?.stream?.urlSession(
            session,
            streamTask: streamTask,
            didBecome: inputStream,
            outputStream: outputStream
        )
    }
}
