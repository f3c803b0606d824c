import CurlTransport
import Foundation
import Glibc

// What a background task tells its delegate. Messages are posted on the client's queue and taken on the delegate queue; no lock is held
// while the program's code runs.

extension BackgroundEngine {
    // MARK: - What the agent tells (client's queue)

    /// Also tells the delegate what happened while no program was attached.
    func apply(_ progress: TaskProgress) {
        if progress.isWaitingForHost == true { apply(.isWaitingForConnectivity) }
        if let resumption = progress.resumption, resumption != knownResumption {
            apply(.resumed(offset: resumption.offset, expectedTotalBytes: resumption.expected))
        }
        show(progress)
    }

    private func show(_ progress: TaskProgress) {
        update { $0.apply(progress) }
    }

    func apply(_ event: TaskEvent) {
        switch event {
        // Each attempt reports this; the delegate is told once.
        case .isWaitingForConnectivity where isKnownToWait: return
        case .isWaitingForConnectivity: isKnownToWait = true
        case .resumed(let offset, let expected): knownResumption = .init(offset: offset, expected: expected)
        default: break
        }
        update { $0.apply(event) }
    }

    /// The agent has recorded the task: its resume data isn't needed any more, and the files named there are removed.
    func wasRecorded() {
        isRecorded = true
        guard case .upload(_, let resumed?) = work, let kept = resumed.resumption.kept?.body else { return }
        let directory = session.settings.temporaryDirectory
        WorkThreads.files.run { kept.remove(in: directory) }
    }

    /// Asks the delegate on behalf of the agent.
    ///
    /// - Parameter stored: The default of the program's credential storage: the answer if no delegate has another.
    func ask(
        _ query: ChallengeQuery,
        proposing stored: URLCredential?,
        answer: @escaping @Sendable (ChallengeReply) -> Void
    ) {
        let own = ownDelegates
        let sender = ChallengeSender { [self] given in
            if query.isOfHandshake, own === ownDelegates { note(given.answerer) }
            var given = given
            if case .performDefaultHandling = given.disposition, let stored {
                (given.disposition, given.credential) = (.useCredential, stored)
            }
            answer(ChallengeReply(given))
        }
        questions.withLock { questions in
            questions.removeAll { $0.isWithdrawn }
            questions.append(sender)
        }
        let challenge = query.challenge(proposing: stored, sender: sender)
        let question = ChallengeQuestion(challenge: challenge, isOfConnection: query.isOfConnection, sender: sender)
        post(.question(.challenge(question)))
    }

    /// Notes whether tasks' own delegates decide about connections. Tasks with such delegates may be waiting to know.
    private func note(_ answerer: ChallengeAnswerers.Answerer) {
        let delegates = AskedDelegates(of: ownDelegates, session.delegates)
        guard ChallengeAnswerers.answerer(of: delegates.types) != answerer else { return }
        ChallengeAnswerers.note(answerer, of: delegates.types)
        client.decidersChanged()
    }

    // MARK: - The end (client's queue)

    /// The task has ended in the agent. `files` is the folder with its files.
    func end(_ ending: TaskEnding, files: URL) {
        guard shared.withLock({ $0.machine.finish(isSuccess: ending.error == nil) }) else { return }
        show(ending.progress)
        guard ending.error != nil, ending.resumeData != nil || ending.upload != nil else {
            return conclude(ending, files, ending.error == nil ? nil : unusedResumeData)
        }
        WorkThreads.files.run { [self] in
            let resumeData = takeResumeData(of: ending, files)
            client.queue.async { self.conclude(ending, files, resumeData ?? self.unusedResumeData) }
        }
    }

    /// - Parameter resumeData: From which another task can continue.
    private func conclude(_ ending: TaskEnding, _ files: URL, _ resumeData: Data?) {
        let outcome = outcome(of: ending, files, resumeData)
        if let response = ending.progress.response { storeCookies(of: response) }
        let metrics = ending.metrics?.metrics ?? metricsWithoutAttempt
        update { shared in
            shared.outcome = outcome
            shared.metrics = metrics
            shared.post(resumeData: resumeData)
        }
        readBody()
    }

    /// The agent's resume data, whose partial file moves to the program's directory; nil if there is none, or there is no room. Blocks: to
    /// another file system, the file is copied. Any thread.
    private func takeResumeData(of ending: TaskEnding, _ files: URL) -> Data? {
        let directory = session.settings.temporaryDirectory
        guard let data = ending.resumeData else {
            return ending.upload.flatMap { uploadResumeData(at: $0, in: directory) }
        }
        let moved = ResumeData.handedOver(data, from: files, to: directory)
        if moved == nil, ResumeData.isFileThere(data, in: files) { handOver.withLock { $0 = .failed } }
        return moved
    }

    /// The task's original resume data, until an agent has a record of the task, and with it the files.
    private var unusedResumeData: Data? { isRecorded ? nil : work.resumeData }

    private func failure(_ error: URLError, _ resumeData: Data?) -> Outcome {
        // An error about the agent or the session is the same for all tasks.
        let error = error.with(url: originalRequest?.url)
        guard let resumeData else { return .failure(error) }
        switch work {
        case .download: return .failure(error.with(resumeData: resumeData))
        case .upload: return .failure(error.with(uploadResumeData: resumeData))
        }
    }

    /// The metrics of a task for which the agent has none; nil if no delegate wants them.
    private var metricsWithoutAttempt: TaskMetrics? {
        if !isMeasured { return nil }
        let interval = DateInterval(start: creation, end: max(creation, Date()))
        return TaskMetrics(hops: [], interval: interval, redirectCount: 0)
    }

    /// Resume data with which the upload can continue at `resource`, in a session of either kind; nil if that makes no sense, or the data
    /// can't be written. Blocks: the path of the program's file is written to a private one.
    private func uploadResumeData(at resource: UploadResource, in directory: URL) -> Data? {
        guard case .upload(let file, _) = work, let originalRequest, let url = originalRequest.url,
            resource.mayBelong(to: url)
        else { return nil }
        let resumeData = UploadResumeData(
            request: StoredRequest(originalRequest, to: url),
            resource: resource,
            acknowledged: 0,
            sent: 0,
            length: file.length,
            body: .stream
        )
        if let encoded = resumeData.encoded(with: .program(UploadedFile(file)), in: directory) { return encoded }
        // Valid data couldn't be written: the next session may have room for it.
        if resumeData.encoded() != nil { handOver.withLock { $0 = .failed } }
        return nil
    }

    /// Ends the task without the agent.
    func fail(_ error: URLError) {
        guard shared.withLock({ $0.machine.finish() }) else { return }
        let isDiscarded = shared.withLock { $0.machine.cancellation == .discardingBody }
        let resumeData = isDiscarded ? nil : unusedResumeData
        let (outcome, metrics) = (failure(error, resumeData), metricsWithoutAttempt)
        update { shared in
            shared.outcome = outcome
            shared.metrics = metrics
            shared.post(resumeData: resumeData)
            shared.mailbox.post(.completed)
        }
    }

    /// Hands over a download's file only now: any number may wait for their delegates' turns, and each one handed over is open.
    func prepareEnd() {
        // A cancelled task's delegate gets no file.
        let isCancelled = shared.withLock { $0.machine.cancellation != nil }
        guard !isCancelled, case .due(let file) = handOver.withLock({ $0 }) else { return }
        let outcome: Outcome
        do throws(URLError) {
            outcome = .file(try DownloadedFile(linking: file, in: session.settings.temporaryDirectory))
        } catch {
            handOverFailed(file)
            outcome = .failure(error.forRequest(to: originalRequest?.url))
        }
        shared.withLock { $0.outcome = outcome }
    }

    /// Asks the agent to keep the file, if it still exists.
    private func handOverFailed(_ file: URL) {
        guard access(file.path, F_OK) == 0 else { return }
        handOver.withLock { $0 = .failed }
    }

    /// Lets the agent forget the task, unless it has to keep the file.
    func acknowledgeEnd() {
        // An unanswered question would retain the session, and keep other tasks from being asked.
        let open = questions.withLock { questions in
            defer { questions = [] }
            return questions
        }
        for question in open { question.withdraw() }
        let keepsFile = handOver.withLock { if case .failed = $0 { true } else { false } }
        client.acknowledge(self, keepsFile: keepsFile)
    }

    private func outcome(of ending: TaskEnding, _ files: URL, _ resumeData: Data?) -> Outcome {
        let file = ending.file.flatMap {
            SessionFolder.isFileName($0) ? files.appendingPathComponent($0, isDirectory: false) : nil
        }
        guard let error = ending.error else { return result(file) }
        // The part of the response that arrived before the failure.
        if case .upload = work, let reader = file.flatMap({ try? FileReader($0.path) }) { body = .file(reader) }
        return failure(error.error, resumeData)
    }

    private func result(_ file: URL?) -> Outcome {
        switch work {
        case .upload:
            guard let file else { return .delivered }
            do throws(SystemError) {
                body = .file(try FileReader(file.path))
                return .delivered
            } catch {
                handOverFailed(file)
                return .failure(unreadable(error))
            }
        case .download:
            guard let file else { return failure(URLError(.cannotOpenFile, url: nil, "The agent named no file."), nil) }
            handOver.withLock { $0 = .due(file) }
            return .delivered
        }
    }

    private func unreadable(_ error: SystemError) -> URLError {
        URLError(
            .cannotOpenFile,
            url: originalRequest?.url,
            "What the server said can't be read: \(error).",
            cause: error
        )
    }

    /// Holds the delegate's messages until the cookies are stored. Cookies of redirects stay in the agent.
    private func storeCookies(of response: ResponseDescription) {
        guard let store = session.settings.storedCookies, let fields = response.setCookies,
            originalRequest?.httpShouldHandleCookies != false
        else { return }
        shared.withLock { $0.mailbox.hold() }
        store.store(
            fields,
            from: response.url,
            mainDocument: originalRequest?.mainDocumentURL,
            policy: session.settings.cookieAcceptPolicy
        ) { [self] in
            client.queue.async { self.update { $0.mailbox.release() } }
        }
    }

    /// Passes on the body of the response to an upload, a piece at a time, and then completes the task. Called when the task has ended,
    /// whenever the delegate has taken a piece, and on cancellation.
    func readBody() {
        if case .passedOn = body { return }
        while case .file(let file) = body {
            let bytes: Data
            do throws(SystemError) {
                bytes = try file.read(64 << 10)
            } catch {
                shared.withLock { shared in
                    // A task that has already failed keeps its error.
                    if case .delivered = shared.outcome { shared.outcome = .failure(unreadable(error)) }
                }
                break
            }
            if bytes.isEmpty { break }
            var isFull: Bool?
            update { shared in
                guard shared.machine.cancellation == nil else { return }
                isFull = bytes.withUnsafeBytes { shared.mailbox.append($0, expected: nil) }
            }
            guard let isFull else { break }
            if isFull { return }
        }
        body = .passedOn
        post(.completed)
    }

    // MARK: - Posting

    private func post(_ message: Mailbox.Message) {
        update { $0.mailbox.post(message) }
    }
}
