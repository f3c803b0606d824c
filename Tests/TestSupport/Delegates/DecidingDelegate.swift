import CurlNetworking
import Foundation

/// A delegate that is asked about redirects and challenges, and answers as a test tells it to. It is also told of
/// completions.
///
/// Each question records the queue on which it was asked.
package final class DecidingDelegate: NSObject, URLSessionDataDelegate, DelegateRecorder {
    package typealias RedirectAnswer = @Sendable (URLRequest?) -> Void
    package typealias ChallengeAnswer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// A redirect that the delegate was asked about.
    package struct Redirect: Sendable {
        package let response: HTTPURLResponse
        package let request: URLRequest
        package let queue: OperationQueue?
        package let answer: RedirectAnswer
    }

    /// A challenge that the delegate was asked to answer.
    package struct Challenge: Sendable {
        package let challenge: URLAuthenticationChallenge
        package let task: Int
        package let queue: OperationQueue?
        package let answer: ChallengeAnswer

        package var space: URLProtectionSpace { challenge.protectionSpace }
        package var status: Int? { (challenge.failureResponse as? HTTPURLResponse)?.statusCode }
    }

    package let redirects = Watched<[Redirect]>([])
    package let challenges = Watched<[Challenge]>([])
    package let record = Watched(DelegateRecord())
    private let onRedirect: @Sendable (Redirect) -> Void
    private let onChallenge: @Sendable (Challenge) -> Void

    /// - Parameters:
    ///   - onRedirect: By default the redirect is followed.
    ///   - onChallenge: By default the default handling applies.
    package init(
        onRedirect: @escaping @Sendable (Redirect) -> Void = { $0.answer($0.request) },
        onChallenge: @escaping @Sendable (Challenge) -> Void = { $0.answer(.performDefaultHandling, nil) }
    ) {
        self.onRedirect = onRedirect
        self.onChallenge = onChallenge
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping RedirectAnswer
    ) {
        let redirect = Redirect(
            response: response,
            request: request,
            queue: OperationQueue.current,
            answer: completionHandler
        )
        redirects.update { $0.append(redirect) }
        onRedirect(redirect)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping ChallengeAnswer
    ) {
        let challenge = Challenge(
            challenge: challenge,
            task: task.taskIdentifier,
            queue: OperationQueue.current,
            answer: completionHandler
        )
        challenges.update { $0.append(challenge) }
        onChallenge(challenge)
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.data(count: data.count), of: dataTask) {
            $0.bodies[dataTask.taskIdentifier, default: Data()].append(data)
        }
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        _ = noteCompletion(of: task, error)
    }

    /// Returns the redirect with this ordinal, from 1, as soon as the delegate was asked about it.
    package func redirect(number: Int) async throws -> Redirect {
        try await redirects.wait { $0.count >= number }
        return redirects.value[number - 1]
    }

    /// Returns the challenge with this ordinal, from 1, as soon as the delegate was asked about it.
    package func challenge(number: Int) async throws -> Challenge {
        try await challenges.wait { $0.count >= number }
        return challenges.value[number - 1]
    }
}
