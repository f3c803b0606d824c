import Foundation

/// Methods for events of stream tasks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamdelegate>
public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
    /// Tells the delegate that the connection's read side is closed: a read reached the end of the peer's stream, or the program closed the
    /// read side. Bytes may remain for further reads.
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

    /// Tells the delegate that the connection's write side is closed: the program closed it, or a write timed out.
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

    /// Tells the delegate that there is a better route to the host than the connection's. Never called on Linux, which doesn't report such
    /// routes.
    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

    /// Tells the delegate that the task's connection has become these two streams; the last message about the task. See
    /// ``URLSessionStreamTask/captureStreams()``.
    ///
    /// Neither stream is open yet. The connection is closed once both have been closed or released.
    func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    )
}

extension URLSessionStreamDelegate {
    /// Forwards to the session's delegate.
    public func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.stream?.urlSession(session, readClosedFor: streamTask)
    }

    /// Forwards to the session's delegate.
    public func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.stream?.urlSession(session, writeClosedFor: streamTask)
    }

    /// Forwards to the session's delegate.
    public func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.stream?.urlSession(session, betterRouteDiscoveredFor: streamTask)
    }

    /// Forwards to the session's delegate.
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
