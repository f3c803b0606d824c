import CurlNetworking
import Foundation

/// A delegate that implements every method about data, upload and download tasks, and writes down which were called, in
/// order. It serves one task.
///
/// Calls that don't come on the session's delegate queue are written down as such. Questions get the default answers, but for
/// those that a test answers itself.
package final class TimelineDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    package typealias DelayAnswer = @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void

    package let record = Watched(Record())
    private let onResponse: URLSession.ResponseDisposition
    private let onDelayedRequest: (@Sendable (URLRequest, DelayAnswer) -> Void)?
    private let onWaiting: (@Sendable () -> Void)?
    private let bodyStream: (@Sendable () -> InputStream?)?

    package struct Record: Sendable {
        package var story: [String] = []
        package var metrics: [URLSessionTaskMetrics] = []
        package var informational: [HTTPURLResponse] = []
        package var error: URLError?
    }

    package init(
        onResponse: URLSession.ResponseDisposition = .allow,
        onDelayedRequest: (@Sendable (URLRequest, DelayAnswer) -> Void)? = nil,
        onWaiting: (@Sendable () -> Void)? = nil,
        bodyStream: (@Sendable () -> InputStream?)? = nil
    ) {
        self.onResponse = onResponse
        self.onDelayedRequest = onDelayedRequest
        self.onWaiting = onWaiting
        self.bodyStream = bodyStream
    }

    /// What was called, each run of equal calls as one.
    package var story: [String] { record.value.story }

    /// The metrics of a task that is over.
    package func metrics() async throws -> URLSessionTaskMetrics {
        try await record.wait { !$0.metrics.isEmpty }
        return record.value.metrics[0]
    }

    /// Returns when the call has been made.
    package func wait(for call: String) async throws {
        try await record.wait { $0.story.contains(call) }
    }

    /// The whole story of a task that completes with a message to its delegate.
    package func completeStory() async throws -> [String] {
        try await wait(for: "completed")
        return story
    }

    /// Writes down something that happened elsewhere.
    package func note(_ call: String) {
        record.update { record in
            if record.story.last != call { record.story.append(call) }
        }
    }

    private func note(_ call: String, in session: URLSession) {
        note(OperationQueue.current === session.delegateQueue ? call : call + " on another queue")
    }

    // MARK: - URLSessionTaskDelegate

    package func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        note("created")
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping DelayAnswer
    ) {
        note("delayed request", in: session)
        guard let onDelayedRequest else { return completionHandler(.continueLoading, nil) }
        onDelayedRequest(request, completionHandler)
    }

    package func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        note("waiting", in: session)
        onWaiting?()
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note("redirect", in: session)
        completionHandler(request)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("challenge", in: session)
        completionHandler(.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note("body stream", in: session)
        completionHandler(bodyStream?())
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note("sent", in: session)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        record.update { $0.informational.append(response) }
        note("informational \(response.statusCode)", in: session)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        note("metrics", in: session)
        record.update { $0.metrics.append(metrics) }
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.update { $0.error = error.map { $0 as? URLError ?? URLError(.unknown) } }
        note("completed", in: session)
    }

    // MARK: - URLSessionDataDelegate

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note("response", in: session)
        completionHandler(onResponse)
    }

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        note("became download", in: session)
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("data", in: session)
    }

    // MARK: - URLSessionDownloadDelegate

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        note("finished downloading", in: session)
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        note("wrote", in: session)
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note("resumed", in: session)
    }
}
