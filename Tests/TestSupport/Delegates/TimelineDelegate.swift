import CurlNetworking
import Foundation

/// A delegate that implements every method about data, upload and download tasks, and records which were called, in order. It
/// serves one task.
///
/// Calls that don't come on the session's delegate queue are recorded as such. Questions get the default answers, except for
/// those that a test answers itself.
package final class TimelineDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, DelegateRecorder {
    package typealias DelayAnswer = @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void

    package let record = Watched(DelegateRecord())
    private let onResponse: URLSession.ResponseDisposition
    private let onDelayedRequest: (@Sendable (URLRequest, DelayAnswer) -> Void)?
    private let onWaiting: (@Sendable () -> Void)?
    private let bodyStream: (@Sendable () -> InputStream?)?

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

    /// Records something that happened elsewhere.
    package func note(_ words: String) {
        note(.noted(words), of: nil)
    }

    // MARK: - URLSessionTaskDelegate

    package func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        note(.created, of: task)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping DelayAnswer
    ) {
        note(.delayedRequest, of: task, in: session)
        guard let onDelayedRequest else { return completionHandler(.continueLoading, nil) }
        onDelayedRequest(request, completionHandler)
    }

    package func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        note(.waiting, of: task, in: session)
        onWaiting?()
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note(.redirect, of: task, in: session)
        completionHandler(request)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note(.challenge, of: task, in: session)
        completionHandler(.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note(.bodyStream, of: task, in: session)
        completionHandler(bodyStream?())
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note(
            .sent(bytesSent, total: totalBytesSent, expected: totalBytesExpectedToSend),
            of: task,
            in: session
        )
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        note(.informational(status: response.statusCode), of: task, in: session) { $0.informational.append(response) }
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        note(.metrics, of: task, in: session) { $0.metrics.append(metrics) }
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        _ = noteCompletion(of: task, error, in: session)
    }

    // MARK: - URLSessionDataDelegate

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        note(.response(status: status), of: dataTask, in: session)
        completionHandler(onResponse)
    }

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        note(.becameDownload, of: dataTask, in: session) { $0.downloads[dataTask.taskIdentifier] = downloadTask }
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.data(count: data.count), of: dataTask, in: session)
    }

    // MARK: - URLSessionDownloadDelegate

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        note(.finishedDownloading, of: downloadTask, in: session)
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        note(
            .wrote(bytesWritten, total: totalBytesWritten, expected: totalBytesExpectedToWrite),
            of: downloadTask,
            in: session
        )
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note(.resumed(offset: fileOffset, expected: expectedTotalBytes), of: downloadTask, in: session)
    }
}
