import Foundation

/// What a delegate is told of a task whoever gets its result, and that nothing else has to wait for.
enum TaskMessage: Sendable {
    /// The time of a request that was put off has come; the loop waits for the answer.
    case willBeginDelayed(URLRequest)
    /// There is no way to the host just now.
    case isWaitingForConnectivity
    /// An informational response to the request has come (RFC 9110 §15.2).
    case informational(ResponseHead, to: URLRequest)
}

extension TaskRunner {
    /// True when that called the program's code. Delegate queue.
    func deliver(
        _ message: TaskMessage,
        about task: URLSessionTask,
        in session: URLSession,
        to delegates: DelegateSet
    ) -> Bool {
        guard let delegate = delegates.task else {
            if case .willBeginDelayed = message { delayedRequestAnswered(.continueLoading, nil) }
            return false
        }
        switch message {
        case .willBeginDelayed(let request):
            delegate.urlSession(session, task: task, willBeginDelayedRequest: request) {
                self.delayedRequestAnswered($0, $1)
            }
        case .isWaitingForConnectivity:
            delegate.urlSession(session, taskIsWaitingForConnectivity: task)
        case .informational(let head, let request):
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url,
                    statusCode: head.status,
                    httpVersion: head.version,
                    headerFields: head.combinedFields
                )
            else { return false }
            delegate.urlSession(session, task: task, didReceiveInformationalResponse: response)
        }
        return true
    }
}
