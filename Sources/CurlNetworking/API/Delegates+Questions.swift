import Foundation
import Locks

// The questions that a delegate may answer in either of two forms, as on Apple's platforms: with a completion handler or async.
// The default of the first tries the second; the default of the second reports that there is neither, and the question is passed
// on from the task's own delegate to the session's, or gets the default answer.

extension URLSessionDelegate {
    /// Asks the async form; where there is none, the question goes to the task's method, as on Apple's platforms.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        AsyncForm.ask(self) {
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
        AsyncForm.ask(self) {
            await $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        } then: { answer in
            if let answer { return completionHandler(answer) }
            self.passOn(about: task, in: session) { next in
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
        AsyncForm.ask(self) {
            await $0.urlSession(session, task: task, didReceive: challenge)
        } then: { answer in
            if let (disposition, credential) = answer { return completionHandler(disposition, credential) }
            self.passOn(about: task, in: session) { next in
                guard let next else {
                    // Another delegate may have passed it on.
                    if task.delegate === self || session.delegate === self {
                        (challenge.sender as? ChallengeSender)?.noteMissingMethods()
                    }
                    return completionHandler(.performDefaultHandling, nil)
                }
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

    /// Calls `ask` with the session's delegate, where this object is the task's own: on the delegate queue again, and not
    /// once the task is over. Else with nil, at once.
    private func passOn(
        about task: URLSessionTask,
        in session: URLSession,
        _ ask: @escaping @Sendable ((any URLSessionTaskDelegate)?) -> Void
    ) {
        guard let next = next(session, task)?.task else { return ask(nil) }
        session.core.deliveryQueue.addOperation {
            if task.state != .completed { ask(next) }
        }
    }
}

/// Calls the async form of a delegate's method, and finds out whether there is one: the default of that form reports itself.
private enum AsyncForm {
    @TaskLocal private static var probe: Probe?

    private final class Probe: Sendable {
        let delegate: ObjectIdentifier
        let isMissing = Mutex(false)

        init(_ delegate: AnyObject) {
            self.delegate = ObjectIdentifier(delegate)
        }
    }

    /// `then` gets nil where the delegate has no async form.
    static func ask<Delegate: URLSessionDelegate, Answer: Sendable>(
        _ delegate: Delegate,
        _ method: @escaping @Sendable (Delegate) async -> Answer,
        then: @escaping @Sendable (Answer?) -> Void
    ) {
        Task {
            let probe = Probe(delegate)
            let answer = await $probe.withValue(probe) { await method(delegate) }
            then(probe.isMissing.withLock { $0 } ? nil : answer)
        }
    }

    /// Called by the defaults. A delegate that asks another one's async form gets that one's default answer.
    static func isMissing(in delegate: AnyObject) {
        guard let probe, probe.delegate == ObjectIdentifier(delegate) else { return }
        probe.isMissing.withLock { $0 = true }
    }
}
