import Foundation

/// The delegate of a session that downloads: gives each file a name that stays.
///
/// `@unchecked Sendable`: the stored properties change only on the delegate queue, which is serial, or while no task is there.
final class DownloadReceiver: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    let queue = OperationQueue()
    /// Called on the queue with each task that is over, and its file.
    var ended: (URLSessionTask, Result<URL, any Error>) -> Void = { _, _ in }
    private var progress: Int64 = 0
    private var files: [Int: Result<URL, any Error>] = [:]

    override init() {
        queue.maxConcurrentOperationCount = 1
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        progress = totalBytesWritten
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let kept = location.appendingPathExtension("kept")
        // FileManager's moveItem costs several times as much.
        let isKept = rename(location.path, kept.path) == 0
        files[downloadTask.taskIdentifier] = isKept ? .success(kept) : .failure(Complaint("the file can't be kept"))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let file = files.removeValue(forKey: task.taskIdentifier) ?? .failure(Complaint("no file arrived"))
        ended(task, error.map { .failure($0) } ?? file)
    }
}
