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

    /// Bonjour services can't be looked up on Linux: Foundation has no `NetService` there.
    @available(
        *,
        unavailable,
        message:
            "There is no NetService on Linux. Look the service up by other means, and use streamTask(withHostName:port:)."
    )
    public func streamTask<Service: AnyObject>(with service: Service) -> URLSessionStreamTask { URLSessionStreamTask() }
}

extension URLSessionConfiguration {
    /// Background sessions are to come.
    @available(*, unavailable, message: "CurlNetworking has no background sessions yet.")
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration { .default }
}
