import Foundation

// Questions about responses, in both forms: see Delegates+Questions.swift.

extension URLSessionDataDelegate {
    /// Calls the async form; if there is none, the question is passed on to the session's delegate, or the task continues.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        AsyncForm.ask(self, .response, about: dataTask, in: session, next: \.data, default: .allow, completionHandler) {
            await $0.urlSession(session, dataTask: dataTask, didReceive: response)
        } passingOn: {
            $0.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
        }
    }

    /// Continues the task.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        AsyncForm.isMissing(.response, in: self)
        return .allow
    }

    /// Calls the async form; if there is none, the question is passed on to the session's delegate, or the response is cached as proposed.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        // A response is stored after its task may have completed.
        AsyncForm.ask(
            self,
            .caching,
            about: dataTask,
            in: session,
            next: \.data,
            passesOnWhenCompleted: true,
            default: proposedResponse,
            completionHandler
        ) {
            await $0.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse)
        } passingOn: {
            $0.urlSession(
                session,
                dataTask: dataTask,
                willCacheResponse: proposedResponse,
                completionHandler: completionHandler
            )
        }
    }

    /// Proposes the response as it is.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse? {
        AsyncForm.isMissing(.caching, in: self)
        return proposedResponse
    }
}
