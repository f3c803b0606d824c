import CurlNetworkingLocks
import Foundation

/// A task's response.
///
/// A server's response is made from its head on first access, on the accessing thread: for a small response this costs more than all the
/// rest, and the event loop has other tasks to serve.
final class TaskResponse: Sendable {
    let url: URL?
    /// nil for a response that isn't HTTP.
    let status: Int?
    private let content: Mutex<Content>

    private enum Content {
        case head(ResponseHead, at: URL)
        case made(URLResponse)
    }

    init(_ head: ResponseHead, at url: URL) {
        self.url = url
        status = head.status
        content = Mutex(.head(head, at: url))
    }

    init(_ response: URLResponse) {
        url = response.url
        status = (response as? HTTPURLResponse)?.statusCode
        content = Mutex(.made(response))
    }

    /// Always the same object. Any thread.
    var object: URLResponse {
        content.withLock { content in
            switch content {
            case .made(let response):
                return response
            case .head(let head, let url):
                let response = head.response(at: url)
                content = .made(response)
                return response
            }
        }
    }
}
