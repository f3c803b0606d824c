import Foundation

/// Messages about web socket tasks. Their end is also reported by `urlSession(_:task:didCompleteWithError:)`: without an error if the close
/// handshake was completed.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsocketdelegate>
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    /// The web socket is open. Called once, before any message is delivered; `protocol` is the one that the server has chosen, if any.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    )

    /// The server has sent a close frame, first or in answer to the task's. Called at most once, and not if the connection was lost or
    /// the task was cancelled. For a status that ``URLSessionWebSocketTask/CloseCode`` doesn't have, see
    /// ``URLSessionWebSocketTask/closeStatus``.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    )
}

extension URLSessionWebSocketDelegate {
    /// Passed on to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        let delegate = next(session, webSocketTask)?.webSocket
        delegate?.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`)
    }

    /// Passed on to the session's delegate.
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
