import CurlNetworking
import Foundation

/// A delegate for sessions and single tasks that writes down every call, in order, and lets a test wait for any of them.
///
/// It implements what tells of a task's course; questions other than the response's disposition get the default answers.
/// What it should do besides recording, a test gives it beforehand. Tasks are told apart by `taskIdentifier`, so one
/// delegate serves one session.
package final class RecordingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    package typealias Disposition = @Sendable (URLSession.ResponseDisposition) -> Void

    package struct Entry: Sendable, Equatable {
        /// nil for what concerns the session.
        package let task: Int?
        package let event: DelegateEvent
    }

    struct Record: Sendable {
        var entries: [Entry] = []
        var bodies: [Int: Data] = [:]
        var completions: [Int: [URLError?]] = [:]
        var downloads: [Int: URLSessionDownloadTask] = [:]
    }

    let record = Watched(Record())
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

    private func note(
        _ event: DelegateEvent,
        of task: URLSessionTask?,
        _ change: (inout Record) -> Void = { _ in }
    ) {
        record.update { record in
            record.entries.append(Entry(task: task?.taskIdentifier, event: event))
            change(&record)
        }
        onEvent?(task, event)
    }

    // MARK: - URLSessionDelegate

    package func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note(.becameInvalid, of: nil)
    }

    // MARK: - URLSessionTaskDelegate

    package func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        note(.created, of: task)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note(.sent(bytesSent, total: totalBytesSent, expected: totalBytesExpectedToSend), of: task)
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let error = error.map { $0 as? URLError ?? URLError(.unknown) }
        note(.completed(error?.code), of: task) { $0.completions[task.taskIdentifier, default: []].append(error) }
    }

    // MARK: - URLSessionDataDelegate

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping Disposition
    ) {
        note(.response(status: (response as? HTTPURLResponse)?.statusCode ?? 0), of: dataTask)
        guard let onResponse else { return completionHandler(.allow) }
        onResponse(dataTask, response, completionHandler)
    }

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        note(.becameDownload, of: dataTask) { $0.downloads[dataTask.taskIdentifier] = downloadTask }
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.data(count: data.count), of: dataTask) { record in
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
        note(.finishedDownloading, of: downloadTask) { $0.bodies[downloadTask.taskIdentifier] = content }
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        note(.wrote(bytesWritten, total: totalBytesWritten, expected: totalBytesExpectedToWrite), of: downloadTask)
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note(.resumed(offset: fileOffset, expected: expectedTotalBytes), of: downloadTask)
    }
}
