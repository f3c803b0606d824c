import Foundation

/// Forwards the delegate messages of the agent's transfers to their session. Agent's queue.
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
        let own = self.session?.task(for: downloadTask)
        own?.wrote(bytesWritten, total: totalBytesWritten, of: totalBytesExpectedToWrite, downloadTask)
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
        self.session?.task(for: task)?.noteWaitingForHost()
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        guard let own = self.session?.task(for: task), let url = response.url else { return }
        own.received(informational: ResponseHead(response), by: url, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.session?.task(for: task)?.collected(metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.session?.completed(task, error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        self.session?.transfers.becameInvalid(session)
    }

    // MARK: - Questions. Redirects are followed, and delayed requests begun, without asking.

    /// Also receives challenges about connections: a session-level method would take precedence over tasks' own delegates.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let own = self.session else { return completionHandler(.cancelAuthenticationChallenge, nil) }
        own.questions.ask(challenge, about: task, decidesAlone: false, completionHandler)
    }
}

/// Asks about the connections of a task whose own delegate, in the program, decides about them. Agent's queue.
///
/// `@unchecked Sendable`: never changes; the session is used only on the agent's queue.
final class AgentTaskDelegate: NSObject, URLSessionTaskDelegate, HandshakeDeputy, @unchecked Sendable {
    private weak var session: AgentSession?
    private let decider: AgentDecider

    init(_ session: AgentSession, _ decider: AgentDecider) {
        self.session = session
        self.decider = decider
    }

    var handshakeDecider: AnyObject? { decider }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let own = self.session else { return completionHandler(.cancelAuthenticationChallenge, nil) }
        own.questions.ask(challenge, about: task, decidesAlone: true, completionHandler)
    }
}

/// Stands for an object in the program that decides about some tasks' connections.
final class AgentDecider: Sendable {}

/// The deciders, by the names that the program gave them. The latest ones outlive their tasks, along with their decisions: as many as an
/// ordinary session remembers.
struct AgentDeciders {
    private let table = WeakTable<UUID, AgentDecider>()
    private var recent: [AgentDecider] = []

    mutating func decider(named name: UUID) -> AgentDecider {
        let decider = table.object(for: name) { AgentDecider() }
        recent.removeAll { $0 === decider }
        recent.append(decider)
        if recent.count > HandshakeScopes.maximumOwn { recent.removeFirst() }
        return decider
    }
}
