import Foundation
import FoundationNetworking
import CurlNetworkingLocks

/// A final 401: the delegate was asked, and there was no credential.
///
/// When a protocol class finishes with such a response, the stock module asks again. Without an answer it waits forever, and with one it
/// loads on its own transport. It does so only if the response has a URL, so this one has none during that call, on the calling thread.
final class Refusal: HTTPURLResponse, @unchecked Sendable {
    // @unchecked: a lock guards the thread, and nothing else changes.
    private let hidingThread = Mutex<pthread_t?>(nil)

    /// A copy of `response`; nil unless it is a 401 with a challenge.
    convenience init?(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse, response.statusCode == 401, let url = response.url,
            response.value(forHTTPHeaderField: "WWW-Authenticate") != nil
        else { return nil }
        let fields = response.allHeaderFields as? [String: String]
        self.init(url: url, statusCode: response.statusCode, httpVersion: nil, headerFields: fields)
    }

    override var url: URL? {
        hidingThread.withLock { $0 } == pthread_self() ? nil : super.url
    }

    /// Runs `body` while the response has no URL on this thread.
    func withoutURL(_ body: () -> Void) {
        hidingThread.withLock { $0 = pthread_self() }
        body()
        hidingThread.withLock { $0 = nil }
    }
}
