import Foundation

// Questions about responses, in both forms: see Delegates+Questions.swift.

extension URLSessionDataDelegate {
    /// Calls the async form; without one, forwards to the session's delegate, or else continues the task.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        AsyncForm.Question(.response, to: self, about: dataTask, in: session).ask(orElse: \.data) {
            await $0.urlSession(session, dataTask: dataTask, didReceive: response)
        } passingOn: {
            $0.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
        } then: {
            completionHandler($0 ?? .allow)
        }
    }

    /// Calls the completion-handler form; without one, continues the task.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        await AsyncForm.answer(.response, in: self, orElse: .allow) {
            urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: $0)
        }
    }

    /// Calls the async form; without one, forwards to the session's delegate, or else caches the proposed response.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        AsyncForm.Question(.caching, to: self, about: dataTask, in: session).ask(orElse: \.data) {
            await $0.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse)
        } passingOn: {
            $0.urlSession(
                session,
                dataTask: dataTask,
                willCacheResponse: proposedResponse,
                completionHandler: completionHandler
            )
        } then: {
            completionHandler($0 ?? proposedResponse)
        }
    }

    /// Calls the completion-handler form; without one, answers with the proposed response.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse? {
        await AsyncForm.answer(.caching, in: self, orElse: proposedResponse) {
            urlSession(
                session,
                dataTask: dataTask,
                willCacheResponse: proposedResponse,
                completionHandler: $0
            )
        }
    }
}
