import CurlNetworking
import Foundation
import TestSupport

/// Answers challenges as a test tells it to, and keeps what a download came to.
final class AnsweringDelegate: NSObject, URLSessionDownloadDelegate {
    typealias Answer =
        @Sendable (URLAuthenticationChallenge) -> (
            URLSession.AuthChallengeDisposition, URLCredential?
        )

    enum Result: Equatable {
        /// With the status.
        case success(Int)
        case failure(URLError.Code)
    }

    let result = Watched<Result?>(nil)
    private let asked = Watched<[String]>([])
    private let body = Watched(Data())
    let metrics = Watched<URLSessionTaskMetrics?>(nil)
    let isInvalid = Watched(false)
    private let answer: Answer

    init(_ answer: @escaping Answer = { _ in (.performDefaultHandling, nil) }) {
        self.answer = answer
    }

    /// Of the challenges, in order.
    var methods: [String] { asked.value }
    var text: String { String(decoding: body.value, as: UTF8.self) }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        asked.update { $0.append(challenge.protectionSpace.authenticationMethod) }
        let (disposition, credential) = answer(challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        body.update { $0 = (try? Data(contentsOf: location)) ?? Data() }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        self.metrics.update { $0 = metrics }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        isInvalid.update { $0 = true }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        let code = (error as? URLError)?.code
        result.update { $0 = code.map(Result.failure) ?? .success(status) }
    }
}
