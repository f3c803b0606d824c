import Foundation

// Questions about redirects and challenges. A delegate may implement each in either of two forms, as on Apple's platforms: with a
// completion handler or async. By default, each form calls the other. If there is neither, a task's own delegate forwards the question to
// the session's, and a session's delegate gives the default answer.

extension URLSessionDelegate {
    /// Calls the async form; without one, calls the task-level method, as on Apple's platforms, unless that was called first.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        AsyncForm.ask(self, .sessionChallenge) {
            await $0.urlSession(session, didReceive: challenge)
        } then: { answer in
            if let (disposition, credential) = answer { return completionHandler(disposition, credential) }
            // A delegate that forwards its questions to this object counts as answering, even if this object lacks the methods.
            let sender = session.delegate === self ? challenge.sender as? ChallengeSender : nil
            if sender?.tryAlternative(to: .session) != true { completionHandler(.performDefaultHandling, nil) }
        }
    }

    /// Calls the completion-handler form; without one, performs the default handling.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        await AsyncForm.answer(.sessionChallenge, in: self, orElse: (.performDefaultHandling, nil)) { answer in
            urlSession(session, didReceive: challenge) { answer(($0, $1)) }
        }
    }
}

extension URLSessionTaskDelegate {
    /// Calls the async form; without one, forwards to the session's delegate, or else follows the redirect.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        AsyncForm.Question(.redirect, to: self, about: task, in: session).ask(orElse: \.task) {
            await $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        } passingOn: {
            $0.urlSession(
                session,
                task: task,
                willPerformHTTPRedirection: response,
                newRequest: request,
                completionHandler: completionHandler
            )
        } then: {
            completionHandler($0 ?? request)
        }
    }

    /// Calls the completion-handler form; without one, follows the redirect.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        await AsyncForm.answer(.redirect, in: self, orElse: request) {
            urlSession(
                session,
                task: task,
                willPerformHTTPRedirection: response,
                newRequest: request,
                completionHandler: $0
            )
        }
    }

    /// Calls the async form; without one, forwards to the session's delegate, or else performs the default handling. After
    /// ``URLSessionStreamTask/startSecureConnection()``, the session-level method comes before the default handling.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let sender = challenge.sender as? ChallengeSender
        AsyncForm.Question(.challenge, to: self, about: task, in: session).ask(orElse: \.task) {
            await $0.urlSession(session, task: task, didReceive: challenge)
        } passingOn: { next in
            sender?.noteAsking(.session)
            next.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
        } then: { answer in
            if let (disposition, credential) = answer { return completionHandler(disposition, credential) }
            if let sender, self.isAsked(about: task, in: session) {
                sender.noteMissingMethods()
                if sender.tryAlternative(to: .task) { return }
            }
            completionHandler(.performDefaultHandling, nil)
        }
    }

    /// False for an object to which a delegate forwards its questions.
    private func isAsked(about task: URLSessionTask, in session: URLSession) -> Bool {
        task.delegate === self || session.delegate === self
    }

    /// Calls the completion-handler form; without one, performs the default handling.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        await AsyncForm.answer(.challenge, in: self, orElse: (.performDefaultHandling, nil)) { answer in
            urlSession(session, task: task, didReceive: challenge) { answer(($0, $1)) }
        }
    }
}
