import Foundation

// What this module doesn't have yet. Without these, the names would resolve to the stock module's types, which this module's sessions don't
// take.

/// Web-socket tasks are to come.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsockettask>
@available(*, unavailable, message: "CurlNetworking has no web-socket tasks yet.")
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {}

/// Web-socket tasks are to come.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsocketdelegate>
@available(*, unavailable, message: "CurlNetworking has no web-socket tasks yet.")
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {}

/// Stream tasks are to come.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamtask>
@available(*, unavailable, message: "CurlNetworking has no stream tasks yet.")
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {}

/// Stream tasks are to come.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionstreamdelegate>
@available(*, unavailable, message: "CurlNetworking has no stream tasks yet.")
public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {}

extension URLSession {
    /// Web-socket tasks are to come.
    @available(*, unavailable, message: "CurlNetworking has no web-socket tasks yet.")
    public func webSocketTask(with url: URL) -> URLSessionWebSocketTask { URLSessionWebSocketTask() }

    /// Web-socket tasks are to come.
    @available(*, unavailable, message: "CurlNetworking has no web-socket tasks yet.")
    public func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        URLSessionWebSocketTask()
    }

    /// Web-socket tasks are to come.
    @available(*, unavailable, message: "CurlNetworking has no web-socket tasks yet.")
    public func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask { URLSessionWebSocketTask() }

    /// Stream tasks are to come.
    @available(*, unavailable, message: "CurlNetworking has no stream tasks yet.")
    public func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask { URLSessionStreamTask() }
}
