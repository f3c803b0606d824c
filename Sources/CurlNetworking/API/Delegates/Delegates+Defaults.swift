import Foundation

// Default implementations of messages. A task's own delegate forwards them to the session's, as on Apple's platforms; a session's delegate
// gives the default answer.

extension URLSessionDelegate {
    /// Does nothing.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}

    /// Does nothing.
    public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}

    /// The session's delegate, if this object is the task's own.
    func next(_ session: URLSession, _ task: URLSessionTask) -> DelegateSet? {
        guard task.delegate === self, let sessionDelegate = session.delegate, sessionDelegate !== self else {
            return nil
        }
        return session.core.delegates
    }
}

extension URLSessionTaskDelegate {
    /// Forwards to the session's delegate.
    public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        next(session, task)?.task?.urlSession(session, didCreateTask: task)
    }

    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        next(session, task)?.task?.urlSession(
            session,
            task: task,
            didSendBodyData: bytesSent,
            totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend
        )
    }

    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        MissingMethods.note(.metrics, of: self)
        next(session, task)?.task?.urlSession(session, task: task, didFinishCollecting: metrics)
    }

    /// Forwards to the session's delegate.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        next(session, task)?.task?.urlSession(session, task: task, didCompleteWithError: error)
    }

    /// Forwards to the session's delegate.
    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        next(session, task)?.task?.urlSession(session, taskIsWaitingForConnectivity: task)
    }

    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        next(session, task)?.task?.urlSession(session, task: task, didReceiveInformationalResponse: response)
    }
}

extension URLSessionDataDelegate {
    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        next(session, dataTask)?.data?.urlSession(session, dataTask: dataTask, didBecome: downloadTask)
    }

    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome streamTask: URLSessionStreamTask
    ) {
        next(session, dataTask)?.data?.urlSession(session, dataTask: dataTask, didBecome: streamTask)
    }

    /// Forwards to the session's delegate, except for the bytes of an async call.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard dataTask.engine?.tellsDelegateOfResult == true else { return }
        next(session, dataTask)?.data?.urlSession(session, dataTask: dataTask, didReceive: data)
    }
}

extension URLSessionDownloadDelegate {
    /// Forwards to the session's delegate, except for the bytes of an async call.
    public func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        guard downloadTask.engine?.tellsDelegateOfResult == true else { return }
        next(session, downloadTask)?.download?.urlSession(
            session,
            downloadTask: downloadTask,
            didWriteData: bytesWritten,
            totalBytesWritten: totalBytesWritten,
            totalBytesExpectedToWrite: totalBytesExpectedToWrite
        )
    }

    /// Forwards to the session's delegate.
    public func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        next(session, downloadTask)?.download?.urlSession(
            session,
            downloadTask: downloadTask,
            didResumeAtOffset: fileOffset,
            expectedTotalBytes: expectedTotalBytes
        )
    }
}
