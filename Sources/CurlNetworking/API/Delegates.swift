import Foundation

/// Messages about a session as a whole.
///
/// Every method has a default implementation, and is called on the session's ``URLSession/delegateQueue`` unless it says
/// otherwise. Questions have two forms, with a completion handler and async; a delegate implements one of the two, and the async one isn't
/// called on the delegate queue. Source: <https://developer.apple.com/documentation/foundation/urlsessiondelegate>
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session has become invalid: its last message. `error` is nil when the program asked for it.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// Asks how to answer a challenge of the connection: a server's certificate, a client's, NTLM and Negotiate. A delegate that
    /// doesn't implement it is asked with the task's method instead. See <doc:TLS> and <doc:Authentication>.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Messages about any task.
///
/// A task's own delegate is asked first; what it doesn't implement goes to the session's. Source:
/// <https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate>
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A task was created: the first message about it, and the place to configure it before it is resumed.
    ///
    /// Called before the creating method returns, on its thread.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

    /// Asks whether and how to follow a redirect: with `request`, another one, or (nil) not at all. Then the redirect's own
    /// response and body are the task's.
    ///
    /// Asked for tasks of every kind, with completion handlers and async ones too. The handler may be called later, from any
    /// thread; its first call counts. See <doc:Redirects>.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// Asks how to answer a challenge of the server or proxy. Asked for tasks of every kind. The handler may be called later,
    /// from any thread; its first call counts. See <doc:Authentication>.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
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

    /// The same in async form: a delegate implements one of the two.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// Asks for a stream with the request's body from `offset` on, in bytes.
    ///
    /// Uploads begin at their beginning: the offset is 0, and only a delegate that implements no method without an offset is asked.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        needNewBodyStreamForTask task: URLSessionTask,
        from offset: Int64
    ) async -> InputStream?

    /// Bytes of the request's body were handed to the transport: so many since the last message, and in all.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    /// What the task has cost: the last message before its completion, or before its handler or awaiting Swift task gets the
    /// result. Called for every task.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// The last message about a task. A server's error status is no error here.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)

    /// There is no way to the task's host just now, and the task waits for one: see
    /// ``URLSessionConfiguration/waitsForConnectivity``. Called at most once for a task.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// An informational response has come (status 100 to 199, but for 101): a 103 with early hints, say. There may be
    /// several, and the response comes behind them.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    )

    /// Asks what to do with a delayed request whose time has come.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
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
    /// The response has arrived; no byte of the body is delivered before the answer.
    ///
    /// Called again for each part of a body of the type `multipart/x-mixed-replace`: the part replaces what was delivered before. See
    /// <doc:OrderOfMessages>.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition

    /// The data task has become a download task: the last message about it.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)

    /// The next bytes of the body. The transfer pauses when too many wait for this method to return.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

    /// Asks whether and how to cache a response: as proposed, another one, or (nil) not at all.
    ///
    /// Called behind the last byte of the body, for responses that are to be stored. See <doc:Caching>.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    )

    /// The same in async form: a delegate implements one of the two.
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
    /// The download is complete. The file is removed when the method returns: open or move it before that.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)

    /// Bytes were written to the file: so many since the last message, so many in all, of so many (or
    /// `NSURLSessionTransferSizeUnknown`).
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )

    /// The download goes on from `fileOffset` bytes that it had before.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
}
