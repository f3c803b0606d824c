import Foundation

// Revalidation of a stored response, independently of the task that received it (RFC 5861 §3).

extension StepContext {
    /// Asks the server, independently of the task, whether the stored response to the current request is still current. False if that isn't
    /// possible: there may be too many such tasks already, and at an origin other than the task's own, the independent task would treat the
    /// request as one that may have the session's credentials.
    func beginRevalidation() -> Bool {
        guard let cache = session.settings.cache, owner.ownDelegates.base == nil, let request, let url = request.url,
            mayCarrySessionCredentials(request)
        else {
            return false
        }
        let key = StoredResponse.key(of: url)
        switch cache.revalidations.begin(key) {
        case .isUnderWay: return true
        case .isFull: return false
        case .begun: break
        }
        let hasBegun = session.revalidate(request) { cache.revalidations.end(key) }
        if !hasBegun { cache.revalidations.end(key) }
        return hasBegun
    }
}

extension SessionCore {
    /// Loads `request` into the cache with a task that isn't listed. The session's delegate is asked about challenges, since trust is up to
    /// the program, and receives no other messages. False if the session takes no more tasks. `completion` is called on the delegate queue.
    func revalidate(
        _ request: URLRequest,
        completion: @escaping @Sendable () -> Void
    ) -> Bool {
        var request = request
        request.cachePolicy = .reloadRevalidatingCacheData
        let handle = TaskHandle(
            identifier: makeTaskIdentifier(),
            session: self,
            request: request,
            consumer: .dataHandler { _, _, _ in completion() },
            isHidden: true
        )
        let task = URLSessionDataTask(engine: handle)
        guard addIfValid(task, identifier: handle.identifier) else { return false }
        if let delegate = delegates.task { task.delegate = ChallengeForwarder(delegate) }
        task.resume()
        return true
    }
}

extension TaskHandle {
    /// The time that the task may take. A task that revalidates a response has no owner to cancel it, and other revalidations wait until it
    /// is over.
    var resourceTimeout: Duration {
        isHidden ? min(session.settings.resourceTimeout, Self.longestRevalidation) : session.settings.resourceTimeout
    }

    private static let longestRevalidation = Duration.seconds(300)
}

/// Forwards challenges to the session's delegate, and nothing else.
private final class ChallengeForwarder: NSObject, URLSessionTaskDelegate {
    private let delegate: any URLSessionTaskDelegate

    init(_ delegate: any URLSessionTaskDelegate) {
        self.delegate = delegate
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }

    /// Leaves redirects to a task whose delegate can be asked about them.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {}

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {}
}
