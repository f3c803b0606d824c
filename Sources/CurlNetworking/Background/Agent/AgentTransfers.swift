import Foundation

/// The ordinary sessions and tasks that do a background session's transfers. Used only on the agent's queue.
final class AgentTransfers {
    private let queue: DispatchQueue
    /// The session with the program's current settings; nil while there is nothing to transfer.
    private var current: URLSession?
    /// Sessions with the settings of earlier programs, until the transfers that began with them are over.
    private var retired: [URLSession] = []
    private var deciders = AgentDeciders()
    /// The keys of the tasks in transfer, by the ordinary tasks that transfer them.
    private var running: [URLSessionTask: UUID] = [:]

    init(on queue: DispatchQueue) {
        self.queue = queue
    }

    // MARK: - Tasks

    /// Makes the ordinary task that transfers the one of `owner` with this record.
    func makeTask(
        for record: TaskRecord,
        of owner: AgentSession,
        _ cookies: TaskCookies
    ) throws(URLError) -> URLSessionTask {
        let session = try session(for: owner)
        let submission = record.submission
        let request = submission.request.request
        let task: URLSessionTask
        switch submission.kind {
        case .upload(let file):
            task = session.makeUploadTask(request, of: UploadedFile(file), resuming: record.upload, cookies)
        case .download:
            let resumeData = record.resumeData.flatMap { try? ResumeData(decoding: $0) }
            task = session.makeDownloadTask(request, resuming: resumeData, cookies)
        }
        running[task] = submission.key
        setDecider(submission.intent.decider, of: task, in: owner)
        return task
    }

    /// - Parameter name: nil if the session's delegate decides.
    func setDecider(_ name: UUID?, of task: URLSessionTask, in owner: AgentSession) {
        task.delegate = name.map { AgentTaskDelegate(owner, deciders.decider(named: $0)) }
    }

    /// The key of the task that `task` transfers; nil if that is over or abandoned.
    func key(of task: URLSessionTask) -> UUID? { running[task] }

    /// `task` is over. Returns the key of the task that it transferred; nil if it was abandoned.
    func completed(_ task: URLSessionTask) -> UUID? { running.removeValue(forKey: task) }

    /// Cancels the task and ignores its end.
    func abandon(_ task: URLSessionTask) {
        running[task] = nil
        task.cancel()
    }

    // MARK: - Sessions

    private func session(for owner: AgentSession) throws(URLError) -> URLSession {
        if let current { return current }
        do {
            let configuration = try owner.record.settings.makeConfiguration(in: owner.folder.files)
            let operations = OperationQueue()
            operations.maxConcurrentOperationCount = 1
            operations.underlyingQueue = queue
            let session = URLSession(
                configuration: configuration,
                delegate: AgentDelegate(owner),
                delegateQueue: operations
            )
            current = session
            return session
        } catch {
            let reason = error.localizedDescription
            throw URLError(.unknown, url: nil, "The session's configuration makes no sense to the agent: \(reason)")
        }
    }

    private var sessions: [URLSession] { retired + [current].compactMap(\.self) }

    /// Running transfers keep the settings that they began with; later ones get the program's current ones.
    func retire() {
        guard let session = current.take() else { return }
        retired.append(session)
        session.finishTasksAndInvalidate()
    }

    /// All of the session's transfers are over.
    func becameInvalid(_ session: URLSession) {
        retired.removeAll { $0 === session }
    }

    func cancelAll() {
        retire()
        for session in retired { session.invalidateAndCancel() }
    }

    func retryUnreachableHosts() {
        for session in sessions { session.retryUnreachableHosts() }
    }

    /// Makes later requests omit the credentials, decisions and cookies of earlier ones, apart from tasks' own.
    func forgetCredentials() {
        for session in sessions { session.core.forgetCredentials() }
    }

    /// Makes later requests use new connections. `renewal` ends once this is in effect.
    func renewConnections(_ renewal: DispatchGroup) {
        for session in sessions {
            renewal.enter()
            session.core.renewConnections { renewal.leave() }
        }
    }
}
