import Foundation

// Questions about responses, in both forms: see Delegates+Questions.swift.

extension URLSessionDataDelegate {
    /// Asks the async form; where there is none, it is passed on to the session's delegate, or the task continues.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        AsyncForm.ask(self, .response) {
            await $0.urlSession(session, dataTask: dataTask, didReceive: response)
        } then: { answer in
            if let answer { return completionHandler(answer) }
            self.passOn(about: dataTask, in: session, to: \.data) { next in
                guard let next else { return completionHandler(.allow) }
                next.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
            }
        }
    }

    /// Continues the task.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        AsyncForm.isMissing(in: self)
        return .allow
    }

    /// Asks the async form; where there is none, it is passed on to the session's delegate, or the response is cached as proposed.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        AsyncForm.ask(self, .caching) {
            await $0.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse)
        } then: { answer in
            if let answer { return completionHandler(answer) }
            // The stored response is settled when the task may be over.
            guard let next = self.next(session, dataTask)?.data else { return completionHandler(proposedResponse) }
            session.core.deliveryQueue.addOperation {
                next.urlSession(
                    session,
                    dataTask: dataTask,
                    willCacheResponse: proposedResponse,
                    completionHandler: completionHandler
                )
            }
        }
    }

    /// Proposes the response as it is.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse? {
        AsyncForm.isMissing(in: self)
        return proposedResponse
    }
}
