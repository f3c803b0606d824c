import CurlNetworking
import Foundation

/// A delegate for sessions and single tasks that records every call, in order, and lets a test wait for any of them.
///
/// It implements the methods that report a task's progress; questions other than the response's disposition get the
/// default answers. A test passes in what it should do besides recording.
package final class RecordingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, DelegateRecorder {
    package typealias Disposition = @Sendable (URLSession.ResponseDisposition) -> Void

    package let record = Watched(DelegateRecord())
    private let keepsBodies: Bool
    private let onEvent: (@Sendable (URLSessionTask?, DelegateEvent) -> Void)?
    private let onResponse: (@Sendable (URLSessionDataTask, URLResponse, @escaping Disposition) -> Void)?
    private let onDownload: (@Sendable (URL) -> Void)?

    /// - Parameters:
    ///   - keepsBodies: Whether body bytes are kept for `body(of:)`, and not only counted.
    ///   - onEvent: Called after an event has been recorded, on its thread, before the method returns.
    ///   - onResponse: Answers for the response's disposition; without it the answer is `.allow`.
    ///   - onDownload: Called within `didFinishDownloadingTo`; without it the file's content is kept as the task's body.
    package init(
        keepsBodies: Bool = true,
        onEvent: (@Sendable (URLSessionTask?, DelegateEvent) -> Void)? = nil,
        onResponse: (@Sendable (URLSessionDataTask, URLResponse, @escaping Disposition) -> Void)? = nil,
        onDownload: (@Sendable (URL) -> Void)? = nil
    ) {
        self.keepsBodies = keepsBodies
        self.onEvent = onEvent
        self.onResponse = onResponse
        self.onDownload = onDownload
    }

    private func tell(
        _ event: DelegateEvent,
        of task: URLSessionTask?,
        _ change: (inout DelegateRecord) -> Void = { _ in }
    ) {
        note(event, of: task, change)
        onEvent?(task, event)
    }

    // MARK: - URLSessionDelegate

    package func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        tell(.becameInvalid, of: nil)
    }

    // MARK: - URLSessionTaskDelegate

    package func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        tell(.created, of: task)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        tell(.sent(bytesSent, total: totalBytesSent, expected: totalBytesExpectedToSend), of: task)
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let event = noteCompletion(of: task, error)
        onEvent?(task, event)
    }

    // MARK: - URLSessionDataDelegate

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping Disposition
    ) {
        tell(.response(status: (response as? HTTPURLResponse)?.statusCode ?? 0), of: dataTask)
        guard let onResponse else { return completionHandler(.allow) }
        onResponse(dataTask, response, completionHandler)
    }

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        tell(.becameDownload, of: dataTask) { $0.downloads[dataTask.taskIdentifier] = downloadTask }
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tell(.data(count: data.count), of: dataTask) { record in
            if keepsBodies { record.bodies[dataTask.taskIdentifier, default: Data()].append(data) }
        }
    }

    // MARK: - URLSessionDownloadDelegate

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        onDownload?(location)
        let content = onDownload == nil ? try? Data(contentsOf: location) : nil
        tell(.finishedDownloading, of: downloadTask) { $0.bodies[downloadTask.taskIdentifier] = content }
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        tell(.wrote(bytesWritten, total: totalBytesWritten, expected: totalBytesExpectedToWrite), of: downloadTask)
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        tell(.resumed(offset: fileOffset, expected: expectedTotalBytes), of: downloadTask)
    }
}
