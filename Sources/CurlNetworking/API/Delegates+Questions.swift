import Foundation

// Questions about redirects and challenges. Like all questions, a delegate may answer them in either of two forms, as on Apple's
// platforms: with a completion handler or async. The default of the first tries the second; the default of the second reports that there
// is neither, and the question is passed on from the task's own delegate to the session's, or gets the default answer.

extension URLSessionDelegate {
    /// Asks the async form; where there is none, the question goes to the task's method, as on Apple's platforms.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        AsyncForm.ask(self, .sessionChallenge) {
            await $0.urlSession(session, didReceive: challenge)
        } then: { answer in
            if let (disposition, credential) = answer { return completionHandler(disposition, credential) }
            let sender = challenge.sender as? ChallengeSender
            if sender?.sessionDelegateDeclines() != true { completionHandler(.performDefaultHandling, nil) }
        }
    }

    /// Answers with the default handling.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        AsyncForm.isMissing(in: self)
        return (.performDefaultHandling, nil)
    }
}

extension URLSessionTaskDelegate {
    /// Asks the async form; where there is none, it is passed on to the session's delegate, or the redirect is followed.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        AsyncForm.ask(self, .redirect) {
            await $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        } then: { answer in
            if let answer { return completionHandler(answer) }
            self.passOn(about: task, in: session, to: \.task) { next in
                guard let next else { return completionHandler(request) }
                next.urlSession(
                    session,
                    task: task,
                    willPerformHTTPRedirection: response,
                    newRequest: request,
                    completionHandler: completionHandler
                )
            }
        }
    }

    /// Follows the redirect.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        AsyncForm.isMissing(in: self)
        return request
    }

    /// Asks the async form; where there is none, it is passed on to the session's delegate, or the default handling applies.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        AsyncForm.ask(self, .challenge) {
            await $0.urlSession(session, task: task, didReceive: challenge)
        } then: { answer in
            if let (disposition, credential) = answer { return completionHandler(disposition, credential) }
            self.passOn(about: task, in: session, to: \.task) { next in
                guard let next else {
                    // Another delegate may have passed it on.
                    if task.delegate === self || session.delegate === self {
                        (challenge.sender as? ChallengeSender)?.noteMissingMethods()
                    }
                    return completionHandler(.performDefaultHandling, nil)
                }
                (challenge.sender as? ChallengeSender)?.noteAsking(.session)
                next.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
            }
        }
    }

    /// Answers with the default handling.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        AsyncForm.isMissing(in: self)
        return (.performDefaultHandling, nil)
    }
}
