import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

/// A delegate that notes the questions it is asked, and answers them as told; and notes responses, bodies and ends.
///
/// `@unchecked Sendable`: what can be changed is, before the task runs.
final class Decider: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    var onRedirect: @Sendable (URLRequest) -> URLRequest? = { $0 }
    var onChallenge: @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?) = {
        _ in
        (.performDefaultHandling, nil)
    }
    var onCaching: @Sendable (CachedURLResponse) -> CachedURLResponse? = { $0 }
    var onDelay: @Sendable (URLRequest) -> (URLSession.DelayedRequestDisposition, URLRequest?) = { _ in
        (.continueLoading, nil)
    }
    var onMetrics: @Sendable (URLSessionTaskMetrics) -> Void = { _ in }
    private let stage: Stage
    private let end = Gate()

    init(_ stage: Stage) {
        self.stage = stage
    }

    /// Runs one task to its end.
    func run(_ task: (URLSession) -> URLSessionTask, _ configure: (URLSessionConfiguration) -> Void = { _ in })
        async throws
    {
        task(stage.session(self, configure)).resume()
        try await end.wait()
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        stage.note(
            "willPerformHTTPRedirection",
            [
                "status": "\(response.statusCode)", "method": request.httpMethod ?? "none",
                "url": request.url?.absoluteString ?? "none",
            ]
        )
        completionHandler(onRedirect(request))
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        stage.note(
            "didReceive challenge",
            [
                "method": space.authenticationMethod, "realm": space.realm ?? "none",
                "failures": "\(challenge.previousFailureCount)",
                "proposed": challenge.proposedCredential?.user ?? "nobody",
            ]
        )
        let (disposition, credential) = onChallenge(challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        stage.note("willCacheResponse", ["body": Text.body(proposedResponse.data)])
        completionHandler(onCaching(proposedResponse))
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        stage.note("willBeginDelayedRequest")
        let (disposition, request) = onDelay(request)
        completionHandler(disposition, request)
    }

    // The stock module's delegates have no such methods: there it is nobody's.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        let link = response.value(forHTTPHeaderField: "Link") ?? "none"
        stage.note("didReceive informational", ["status": "\(response.statusCode)", "link": link])
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        stage.note("isWaitingForConnectivity")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        onMetrics(metrics)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        stage.note("didReceive response", ["status": "\((response as? HTTPURLResponse)?.statusCode ?? 0)"])
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        stage.note("didReceive data", ["body": Text.body(data)])
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        stage.note("didComplete", Describe.error(error))
        end.open()
    }
}
