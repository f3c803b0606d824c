import Foundation

/// One attempt at a background session's task: the ordinary task that does the transfer, and what it leaves behind.
///
/// `@unchecked Sendable`: used only on the agent's queue.
final class AgentAttempt: @unchecked Sendable {
    /// Why the agent stops the attempt.
    enum Stop {
        /// The task has run out of time.
        case expired
        /// The task was cancelled.
        case cancelled
    }

    let task: URLSessionTask
    /// Why the attempt is being stopped; nil if it isn't.
    private(set) var stop: Stop?
    /// What the next attempt can continue from.
    var resumeData: Data?
    /// The last response's head, as the server sent it; nil until the attempt is over.
    var head: ResponseHead?
    /// Why the agent itself had to give up.
    private(set) var failure: URLError?
    private let folder: SessionFolder
    /// The body of the response to an upload.
    private var body: DownloadFile?
    /// The name of the file with the whole body of the response.
    private var file: String?
    /// Whether the record names the file being written.
    private var isCheckpointed = false

    init(_ task: URLSessionTask, in folder: SessionFolder) {
        self.task = task
        self.folder = folder
    }

    /// Whether it has yet to make a request, as far as can be told: it waits for its begin date, for a place at its host, or for its host
    /// to become reachable.
    func hasYetToBegin(_ submission: TaskSubmission) -> Bool {
        guard let snapshot = task.engine?.snapshot, snapshot.response == nil, snapshot.counters.sent == 0 else {
            return false
        }
        // A host that couldn't be reached at first may have been reached since.
        return snapshot.counters.requests == 0
            || snapshot.failureToConnect != nil && submission.isHarmlessWithoutBody
    }

    /// Why the host hasn't been reached so far; nil if it has, or nothing has failed.
    var failureToConnect: URLError? {
        guard let snapshot = task.engine?.snapshot, snapshot.response == nil else { return nil }
        return snapshot.failureToConnect
    }

    /// - Parameters:
    ///   - count: The number of new bytes.
    ///   - resumableSize: The number of bytes from which a download is worth resuming.
    /// - Returns: Whether the record must now name the file being written: true once per file.
    func wrote(_ count: Int64, total: Int64, resumableSize: Int64) -> Bool {
        // The download has begun, or started over with another file.
        if count == total { isCheckpointed = false }
        guard !isCheckpointed, total >= resumableSize else { return false }
        isCheckpointed = true
        return true
    }

    /// - Parameter keepsPartialFile: Whether another task may continue a download.
    func stop(_ reason: Stop, keepsPartialFile: Bool) {
        stop = reason
        guard keepsPartialFile, let download = task as? URLSessionDownloadTask else { return task.cancel() }
        download.cancel { [self] data in resumeData = data }
    }

    func received(_ data: Data) {
        do throws(URLError) {
            let file: DownloadFile
            if let body { file = body } else { file = try DownloadFile(in: folder.files) }
            body = file
            try data.withBytes { bytes throws(URLError) in try file.write(bytes) }
        } catch {
            failure = error
            task.cancel()
        }
    }

    /// Moves the file into the agent's folder, as `name`.
    func downloaded(to location: URL, as name: String) {
        if rename(location.path, folder.path(ofFile: name)) == 0 {
            file = name
        } else {
            failure = URLError(.cannotMoveFile, url: location, "The download could not be kept.", cause: .current)
        }
    }

    /// Closes the file with the response's body and returns its name; nil if there is none.
    func closeFile() throws(URLError) -> String? {
        if let body = body.take() {
            guard let kept = body.keep() else {
                throw URLError(.cannotCloseFile, url: nil, "The response could not be kept.")
            }
            file = kept.name
        }
        return file
    }

    /// Returns the name of the closed file, which the caller then owns; nil if there is none.
    func takeFile() -> String? { file.take() }

    /// Returns the name of the file with the partial response to a failed upload, which the caller then owns; nil if there is none, or it
    /// can't be kept.
    func takeIncompleteBody() -> String? {
        guard body != nil else { return nil }
        _ = try? closeFile()
        return takeFile()
    }

    /// Removes the files that haven't been taken.
    func discard() {
        body.take()?.remove()
        if let file = file.take() { folder.removeFile(file) }
    }
}
