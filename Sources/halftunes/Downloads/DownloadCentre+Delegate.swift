import CurlNetworking
import Foundation

// The session's messages to the centre, all on the centre's queue.

extension DownloadCentre: URLSessionDownloadDelegate {
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        guard Self.isSuccess(Self.status(of: downloadTask)) else { return }
        change(downloadTask) {
            $0.wrote(total: totalBytesWritten, expected: Self.known(totalBytesExpectedToWrite))
        }
        keepCheckpoint(of: downloadTask, isFirst: bytesWritten == totalBytesWritten)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        change(downloadTask) { $0.resumed(at: fileOffset, expected: Self.known(expectedTotalBytes)) }
    }

    /// The file must be moved before this method returns. The body of an error response isn't the file that was asked for.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let item = lastOwner(of: downloadTask)?.item else { return }
        let identifier = downloadTask.taskIdentifier
        let status = Self.status(of: downloadTask)
        guard Self.isSuccess(status) else {
            let isTransient = status >= 500 || [408, 429].contains(status)
            return change(item.url) {
                $0.fail(task: identifier, message: "status \(status)", isTransient: isTransient)
            }
        }
        do {
            let arrival = try folder.accept(location, of: item)
            change(item.url) { $0.arrived(task: identifier) }
            check(item, arrival: arrival)
        } catch {
            change(item.url) {
                $0.fail(task: identifier, message: error.localizedDescription, isTransient: false)
            }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        defer { forgetTask(task.taskIdentifier) }
        guard let error, let download = task as? URLSessionDownloadTask else { return }
        let resumeData = (error as? URLError)?.downloadTaskResumeData
        let isCancelled = (error as? URLError)?.code == .cancelled
        // An earlier run's task that was cancelled for good leaves nothing to take over.
        if isCancelled, resumeData == nil, tasks[task.taskIdentifier] == nil { return }
        guard let item = lastOwner(of: download)?.item else { return }
        // Invalid resume data produces a task without a request.
        if download.originalRequest == nil {
            folder.removePauseFile(of: item)
            return change(download) { $0.rejectOrigin(task: task.taskIdentifier, message: error.localizedDescription) }
        }
        if isCancelled {
            change(download) { $0.cancelledElsewhere(task: task.taskIdentifier, resumeData: resumeData) }
        }
        change(download) {
            $0.fail(
                task: task.taskIdentifier,
                message: error.localizedDescription,
                isTransient: Self.isTransient(error),
                resumeData: resumeData
            )
        }
    }

    /// The download that owns this task; nil if the download has continued without the task.
    func owner(of task: URLSessionDownloadTask) -> Download? {
        guard let id = tasks[task.taskIdentifier]?.id, let download = downloads[id],
            download.task == task.taskIdentifier
        else { return nil }
        return download
    }

    /// The same for a task that ends. An unknown one is an earlier run's that has ended since: it is taken over now.
    private func lastOwner(of task: URLSessionDownloadTask) -> Download? {
        if tasks[task.taskIdentifier] == nil { adopt(task) }
        return owner(of: task)
    }

    private func change(_ task: URLSessionDownloadTask, _ step: (inout Download) -> Bool) {
        guard let download = owner(of: task) else { return }
        change(download.id, step)
    }

    private static func status(of task: URLSessionTask) -> Int {
        (task.response as? HTTPURLResponse)?.statusCode ?? 200
    }

    private static func isSuccess(_ status: Int) -> Bool {
        (200..<300).contains(status)
    }

    private static func known(_ length: Int64) -> Int64? {
        length == NSURLSessionTransferSizeUnknown ? nil : length
    }

    private static func isTransient(_ error: any Error) -> Bool {
        let codes: [URLError.Code] = [
            .timedOut, .networkConnectionLost, .notConnectedToInternet, .cannotConnectToHost, .cannotFindHost,
            .dnsLookupFailed, .badServerResponse, .cannotLoadFromNetwork, .resourceUnavailable,
        ]
        return (error as? URLError).map { codes.contains($0.code) } ?? false
    }
}
