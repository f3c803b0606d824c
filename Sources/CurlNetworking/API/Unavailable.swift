import Foundation

// What this module doesn't have yet. Without these, the names would resolve to the stock module's types, which this module's sessions don't
// take.

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
    /// Stream tasks are to come.
    @available(*, unavailable, message: "CurlNetworking has no stream tasks yet.")
    public func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask { URLSessionStreamTask() }
}
