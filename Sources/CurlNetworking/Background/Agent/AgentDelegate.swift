import Foundation

/// Passes the messages of the agent's transfers on to their session. Agent's queue.
///
/// `@unchecked Sendable`: never changes; the session is used only on the agent's queue.
final class AgentDelegate: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, @unchecked Sendable {
    private weak var session: AgentSession?

    init(_ session: AgentSession) {
        self.session = session
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        self.session?.task(for: downloadTask)?.downloaded(to: location)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        self.session?.task(for: downloadTask)?.wrote(totalBytesWritten, of: totalBytesExpectedToWrite, downloadTask)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        self.session?.task(for: downloadTask)?.resumed(at: fileOffset, of: expectedTotalBytes, downloadTask)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let own = self.session?.task(for: task)
        own?.sent(bytesSent, total: totalBytesSent, of: totalBytesExpectedToSend, task)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.session?.task(for: dataTask)?.received(data, dataTask)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        self.session?.task(for: task)?.isWaitingForHost()
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        guard let own = self.session?.task(for: task), let url = response.url else { return }
        let fields = response.allHeaderFields.map { HeaderField(name: "\($0.key)", value: "\($0.value)") }
        let head = ResponseHead(version: "HTTP/1.1", status: response.statusCode, fields: fields)
        own.received(informational: head, by: url, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.session?.task(for: task)?.collected(metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.session?.completed(task, error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        self.session?.becameInvalid(session)
    }

    // MARK: - Questions. Redirects are followed, and put-off requests begun, without any.

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let own = self.session else { return completionHandler(.cancelAuthenticationChallenge, nil) }
        own.ask(challenge, about: nil, completionHandler)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let own = self.session else { return completionHandler(.cancelAuthenticationChallenge, nil) }
        own.ask(challenge, about: task, completionHandler)
    }
}
