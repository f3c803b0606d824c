import Foundation

/// Methods for session-level events.
///
/// Every method has a default implementation, and is called on the session's ``URLSession/delegateQueue`` unless documented otherwise.
/// Questions have two forms, with a completion handler or async, of which a delegate implements one; calling the other one, as a delegate
/// that forwards its questions may do, calls that. The async form isn't called on the delegate queue.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondelegate>
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// Tells the delegate that the session has become invalid; its last message. `error` is nil if the program invalidated it.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// Tells the delegate that it has received all events that a background session had while no program was attached. Called once after a
    /// session is created with an earlier session's identifier, if transfers ended meanwhile.
    ///
    /// Source:
    /// <https://developer.apple.com/documentation/foundation/urlsessiondelegate/urlsessiondidfinishevents(forbackgroundurlsession:)>
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)

    /// Asks the delegate how to answer a challenge about the connection: the server's certificate, the client's, NTLM or Negotiate. If it
    /// doesn't implement this method, the task-level one is called instead; for a stream task, that is called first. See <doc:TLS>,
    /// <doc:StreamTasks> and <doc:Authentication>.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Methods for events of any task.
///
/// A task's own delegate is called first; messages that it doesn't implement go to the session's delegate. Source:
/// <https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate>
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// Tells the delegate that a task was created; the first message about it, and the chance to configure it before it runs.
    ///
    /// Called on the creating thread, before the creating method returns.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

    /// Asks the delegate whether to follow a redirect. Answer with `request`, another request, or nil to receive the redirect's own
    /// response and body. A `request` with a scheme other than http and https isn't a valid answer: the task would fail.
    ///
    /// Called for tasks of every kind, including async ones and those with completion handlers. The handler may be called later, from any
    /// thread; only its first call counts. See <doc:Redirects>.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// Asks the delegate how to answer a challenge from the server or proxy, or about certificates when a stream task starts TLS. Called
    /// for tasks of every kind. The handler may be called later, from any thread; only its first call counts. See <doc:Authentication>.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// Asks the delegate for a stream with the request's body.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// Asks the delegate for a stream with the request's body, starting at `offset` in bytes.
    ///
    /// Called with an offset when a streamed upload is resumed; see <doc:ResumableUploads>. At the beginning of an upload, the offset is 0,
    /// and the method is called only if the delegate doesn't implement the one without an offset.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        needNewBodyStreamForTask task: URLSessionTask,
        from offset: Int64
    ) async -> InputStream?

    /// Tells the delegate how many bytes of the request's body were handed to the transport, since the last message and in total.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    /// Passes the task's metrics to the delegate; the last message before completion or the handler. An async call waits for it only if the
    /// delegate was passed to the call. Not called for a task whose streams were captured.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// Tells the delegate that the task has completed; the last message about it. A status such as 404 is not an error.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)

    /// Tells the delegate that the task is waiting because its host is currently unreachable; see
    /// ``URLSessionConfiguration/waitsForConnectivity``. Called at most once per task.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// Tells the delegate that an informational response has arrived (status 100 to 199, except 101), such as a 103 with early hints. There
    /// may be several before the final response.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    )

    /// Asks the delegate what to do with a delayed request that is due.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?)
}

/// Methods for events of data and upload tasks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondatadelegate>
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// Asks the delegate how to continue with the response. No byte of the body is delivered before the answer.
    ///
    /// Called again for each part of a `multipart/x-mixed-replace` body; each part replaces the data delivered before. See
    /// <doc:OrderOfMessages>.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition

    /// Tells the delegate that the data task has become a download task; the last message about it.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)

    /// Tells the delegate that the data task has become a stream task; the last message about it.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask)

    /// Passes the next bytes of the body to the delegate. The transfer pauses while too many bytes wait for this method to return.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

    /// Asks the delegate whether to cache a response. Answer with the proposed response, another one, or nil not to cache it.
    ///
    /// Called after the last byte of the body, for responses that may be stored. See <doc:Caching>.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    )

    /// The async form; a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse?
}

/// Methods for events of download tasks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondownloaddelegate>
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// Tells the delegate that the download is complete. The file is removed when the method returns; open or move it first.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)

    /// Tells the delegate how many bytes were written to the file, since the last message and in total, and are expected in total (or
    /// `NSURLSessionTransferSizeUnknown`).
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )

    /// Tells the delegate that the download resumes after the first `fileOffset` bytes, which were received before.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
}
