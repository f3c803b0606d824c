import Foundation
import FoundationNetworking
import Locks

/// A response of 401 that is final: the delegate has been asked, and nobody had a credential.
///
/// When such a response's protocol class has finished, the stock module asks once more, waits for ever where nobody answers, and
/// loads anew on its own transport where somebody does. It does so only for responses that have a URL: during that one call, and on
/// the thread that makes it, this one has none.
final class Refusal: HTTPURLResponse, @unchecked Sendable {
    // @unchecked is true because the thread's number is locked, and nothing else changes.
    private let hidingThread = Mutex<pthread_t?>(nil)

    /// The same as `response`, if that is a refusal.
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

    /// Does `body` without a URL for this thread.
    func withoutURL(_ body: () -> Void) {
        hidingThread.withLock { $0 = pthread_self() }
        body()
        hidingThread.withLock { $0 = nil }
    }
}
