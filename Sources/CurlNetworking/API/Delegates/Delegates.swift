import Foundation

/// Messages about a session as a whole.
///
/// Every method has a default implementation, and is called on the session's ``URLSession/delegateQueue`` unless it says
/// otherwise. Questions have two forms, of which a delegate implements one: with a completion handler, or async. The async form isn't called
/// on the delegate queue. Source: <https://developer.apple.com/documentation/foundation/urlsessiondelegate>
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session has become invalid: its last message. `error` is nil if the program invalidated it.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// Everything that happened in a background session while no program was attached to it has been reported. Called once after a session
    /// was made with the identifier of an earlier one, if transfers had ended meanwhile.
    ///
    /// Source:
    /// <https://developer.apple.com/documentation/foundation/urlsessiondelegate/urlsessiondidfinishevents(forbackgroundurlsession:)>
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)

    /// Asks how to answer a challenge about the connection: the server's certificate, the client's, NTLM or Negotiate. If a delegate
    /// doesn't implement it, the task's method is called instead; for a stream task, the task's method comes first. See <doc:TLS>,
    /// <doc:StreamTasks> and <doc:Authentication>.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Messages about any task.
///
/// A task's own delegate is asked first; messages that it doesn't implement go to the session's. Source:
/// <https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate>
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A task was created: the first message about it, and the chance to configure it before it is resumed.
    ///
    /// Called on the creating thread, before the creating method returns.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

    /// Asks whether to follow a redirect: answer with `request`, with another request, or with nil to get the redirect's own response and
    /// body. If `request` has another scheme than http and https, it can't be the answer: the task would fail.
    ///
    /// Asked for tasks of every kind, including those with completion handlers and async ones. The handler may be called later, from any
    /// thread; its first call counts. See <doc:Redirects>.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// Asks how to answer a challenge from the server or proxy, also about the certificates of a stream task that begins TLS. Asked for
    /// tasks of every kind. The handler may be called later, from any thread; its first call counts. See <doc:Authentication>.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// Asks for a stream with the request's body.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// Asks for a stream with the request's body from `offset` on, in bytes.
    ///
    /// Called with an offset when a streamed upload is resumed: see <doc:ResumableUploads>. At the beginning of an upload the offset is 0,
    /// and the method is called only if the delegate doesn't implement the one without an offset.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        needNewBodyStreamForTask task: URLSessionTask,
        from offset: Int64
    ) async -> InputStream?

    /// Bytes of the request's body were handed to the transport: since the last message, and in total.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    /// The task's metrics: the last message before its completion or its handler. An async call waits for it only if the delegate was passed to
    /// the call. Not called for a task whose streams were captured.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// The last message about a task. A status such as 404 is not an error.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)

    /// The task's host can't be reached at present, and the task waits: see
    /// ``URLSessionConfiguration/waitsForConnectivity``. Called at most once for each task.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// An informational response has arrived (status 100 to 199, except 101), such as a 103 with early hints. There may be several,
    /// followed by the final response.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    )

    /// Asks what to do with a delayed request when it is due.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?)
}

/// Messages about data and upload tasks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondatadelegate>
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// The response has arrived. No byte of the body is delivered before the answer.
    ///
    /// Called again for each part of a `multipart/x-mixed-replace` body: the part replaces what was delivered before. See
    /// <doc:OrderOfMessages>.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition

    /// The data task has become a download task: the last message about it.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)

    /// The data task has become a stream task: the last message about it.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask)

    /// The next bytes of the body. The transfer pauses while too many wait for this method to return.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

    /// Asks whether to cache a response: answer with the proposed response, with another one, or with nil not to cache it.
    ///
    /// Called after the last byte of the body, for responses that may be stored. See <doc:Caching>.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    )

    /// The async form of the method with a completion handler: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse?
}

/// Messages about download tasks.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondownloaddelegate>
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// The download is complete. The file is removed when the method returns: open or move it before then.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)

    /// Bytes were written to the file: since the last message, in total, and expected in total (or
    /// `NSURLSessionTransferSizeUnknown`).
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )

    /// The download continues after the first `fileOffset` bytes, which it had received before.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
}
