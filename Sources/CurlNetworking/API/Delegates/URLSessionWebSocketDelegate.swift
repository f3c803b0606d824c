import Foundation

/// Methods for events of web socket tasks. Their end is also reported by `urlSession(_:task:didCompleteWithError:)`, without an error if
/// the close handshake was completed.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsocketdelegate>
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    /// Tells the delegate that the web socket is open. Called once, before any message is delivered; `protocol` is the server's choice, if
    /// any.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    )

    /// Tells the delegate that the server sent a close frame, first or in reply to the task's. Called at most once, and not if the
    /// connection was lost or the task was cancelled. For a status without a ``URLSessionWebSocketTask/CloseCode``, see
    /// ``URLSessionWebSocketTask/closeStatus``.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    )
}

extension URLSessionWebSocketDelegate {
    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        let delegate = next(session, webSocketTask)?.webSocket
        delegate?.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`)
    }

    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        let delegate = next(session, webSocketTask)?.webSocket
        delegate?.urlSession(session, webSocketTask: webSocketTask, didCloseWith: closeCode, reason: reason)
    }
}
