import Foundation

// Questions about requests before they are sent, in both forms: see Delegates+Questions.swift.

extension URLSessionTaskDelegate {
    /// Calls the async form; without one, calls the methods that ask for a stream from an offset, on the delegate queue. Without those,
    /// forwards to the session's delegate, or else answers with no stream.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        AsyncForm.ask(self, .bodyStream) {
            await $0.urlSession(session, needNewBodyStreamForTask: task)
        } then: { answer in
            if let answer { return completionHandler(answer) }
            session.passOn(about: task) {
                guard task.state != .completed else { return }
                self.urlSession(session, task: task, needNewBodyStreamFrom: 0, completionHandler: completionHandler)
            }
        }
    }

    /// Calls the completion-handler form; without one, answers with no stream.
    public func urlSession(
        _ session: URLSession,
        needNewBodyStreamForTask task: URLSessionTask
    ) async -> InputStream? {
        await AsyncForm.answer(.bodyStream, in: self, orElse: nil) {
            urlSession(session, task: task, needNewBodyStream: $0)
        }
    }

    /// Calls the async form; without one, forwards to the session's delegate, or else answers with no stream.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        AsyncForm.Question(.bodyStreamFromOffset, to: self, about: task, in: session).ask(orElse: \.task) {
            await $0.urlSession(session, needNewBodyStreamForTask: task, from: offset)
        } passingOn: { next in
            guard offset > 0 else {
                return next.urlSession(session, task: task, needNewBodyStream: completionHandler)
            }
            next.urlSession(session, task: task, needNewBodyStreamFrom: offset, completionHandler: completionHandler)
        } then: {
            completionHandler($0 ?? nil)
        }
    }

    /// Calls the completion-handler form; without one, answers with no stream.
    public func urlSession(
        _ session: URLSession,
        needNewBodyStreamForTask task: URLSessionTask,
        from offset: Int64
    ) async -> InputStream? {
        await AsyncForm.answer(.bodyStreamFromOffset, in: self, orElse: nil) {
            urlSession(session, task: task, needNewBodyStreamFrom: offset, completionHandler: $0)
        }
    }

    /// Calls the async form; without one, forwards to the session's delegate, or else sends the request unchanged.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        AsyncForm.Question(.delayedRequest, to: self, about: task, in: session).ask(orElse: \.task) {
            await $0.urlSession(session, task: task, willBeginDelayedRequest: request)
        } passingOn: {
            $0.urlSession(
                session,
                task: task,
                willBeginDelayedRequest: request,
                completionHandler: completionHandler
            )
        } then: {
            let (disposition, request) = $0 ?? (.continueLoading, nil)
            completionHandler(disposition, request)
        }
    }

    /// Calls the completion-handler form; without one, sends the request unchanged.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
        await AsyncForm.answer(.delayedRequest, in: self, orElse: (.continueLoading, nil)) { answer in
            urlSession(session, task: task, willBeginDelayedRequest: request) { answer(($0, $1)) }
        }
    }
}
