import CurlTransport
import Foundation

/// One task of a background session, in the agent: ordinary tasks attempt the transfer, as often as necessary, until it has ended and the
/// program has been told.
///
/// `@unchecked Sendable`: used only on the agent's queue.
final class AgentTask: @unchecked Sendable {
    private var stored: StoredTask
    private(set) var progress: TaskProgress
    private unowned let session: AgentSession
    private var phase = AgentTaskPhase.idle
    private var failures = AttemptFailures()
    private var clock: TimeoutClock
    private(set) lazy var credentials = TaskCredentials(record.submission.cookies.compactMap(\.stored))

    init(_ stored: StoredTask, in session: AgentSession) {
        self.stored = stored
        self.session = session
        let record = stored.record
        clock = TimeoutClock(earlier: record.elapsed)
        progress = record.ending?.progress ?? TaskProgress(key: record.submission.key, counters: stored.counters)
        if record.ending != nil { phase = .ended(isRecorded: true) }
        if case .upload(let file) = record.submission.kind { progress.counters.expectedToSend = file.length }
    }

    var record: TaskRecord { stored.record }
    var key: UUID { stored.key }
    private var intent: TaskIntent { record.submission.intent }

    var hasEnded: Bool { phase.isEnd }
    /// Whether the agent has to stay for this task.
    var needsAgent: Bool { phase.needsAgent(isSuspended: intent.isSuspended) }

    var listing: TaskListing {
        let ending = hasEnded ? record.ending : nil
        var listing = TaskListing(submission: record.submission, progress: progress, ending: ending)
        if listing.ending != nil { listing.progress.response = nil }
        return listing
    }

    var status: SessionStatus.Task {
        SessionStatus.Task(
            identifier: record.submission.identifier,
            kind: record.submission.kind == .download ? "download" : "upload",
            url: AgentLog.text(of: record.submission.request.url),
            state: phase.text(isSuspended: intent.isSuspended, hasFailed: record.ending?.error != nil),
            counters: progress.counters
        )
    }

    /// The names of its files in the session's folder.
    var files: Set<String> { stored.files }

    // MARK: - The program's intents

    /// Continues a task that an earlier agent had, or begins a new one.
    func start() {
        guard !hasEnded else { return }
        guard let source = record.source, let name = record.nameOfSource else { return proceed() }
        phase = .takingOver
        session.takeOver(source, as: name) { [self, folder = session.folder] partial in
            tookOver(source, partial, in: folder)
        }
    }

    private func proceed() {
        if intent.cancellation != nil { return cancel() }
        if !intent.isSuspended { begin() }
    }

    /// The record on disk already leads to a file that was moved, but not to one that was copied.
    private func tookOver(_ source: PartialFile, _ partial: PartialFile?, in folder: SessionFolder) {
        guard case .takingOver = phase else {
            // Forgotten meanwhile, perhaps along with its session.
            if let partial { folder.removeFile(partial.name) }
            return
        }
        phase = .idle
        let isMoved = partial?.name == record.nameOfSource
        stored.record.tookOver(partial)
        if partial != nil, !isMoved, save() { session.removeSource(source) }
        proceed()
    }

    func change(to new: TaskIntent) {
        guard !hasEnded, new != intent, intent.cancellation == nil else { return }
        let old = intent
        stored.record.submission.intent = new
        if new.cancellation != nil { return cancel() }
        save()
        if case .running(let attempt) = phase {
            new.settings.apply(to: attempt.task)
            if new.decider != old.decider { session.transfers.setDecider(new.decider, of: attempt.task, in: session) }
        }
        // The begin date may have changed.
        if isWaiting { startClock() }
        guard new.isSuspended != old.isSuspended else { return }
        switch phase {
        case .running(let attempt):
            new.isSuspended ? attempt.task.suspend() : attempt.task.resume()
            new.isSuspended ? stopClock() : startClock()
        case .idle, .retrying:
            if new.isSuspended {
                stopClock()
                phase = .idle
            } else {
                begin()
            }
        case .takingOver, .syncing, .ended:
            break
        }
    }

    /// The user has ended the program's transfers.
    func forceQuit() {
        guard !hasEnded, intent.cancellation == nil else { return }
        // It is complete, and its success recorded.
        if case .syncing = phase { return }
        stored.record.forceQuit()
        // The user is told that this is done: even if this agent is killed now, the next one must not continue the task.
        save()
        cancel()
    }

    private func cancel() {
        let isKept = intent.cancellation == .keepingPartialFile
        switch phase {
        case .running(let attempt):
            attempt.stop(.cancelled, keepsPartialFile: isKept)
        case .idle, .retrying:
            end(
                record.cancellationError,
                resumeData: isKept ? record.resumeData : nil,
                upload: isKept ? record.upload : nil
            )
        case .takingOver, .syncing, .ended:
            break
        }
    }

    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) {
        guard case .running(let attempt) = phase, let engine = attempt.task.engine else {
            return completion(record.resumeData)
        }
        engine.checkpoint(completion)
    }

    // MARK: - Attempts

    private func begin() {
        let url = record.submission.request.url
        if case .upload(let file) = record.submission.kind, let problem = file.problem(for: url) {
            return end(problem, resumeData: nil)
        }
        let task: URLSessionTask
        do {
            task = try session.transfers.makeTask(for: record, of: session, credentials.cookies)
        } catch {
            return end(error, resumeData: nil)
        }
        progress.isWaitingForHost = nil
        phase = .running(AgentAttempt(task, in: session.folder))
        intent.settings.apply(to: task)
        startClock()
        task.resume()
    }

    private func retry(after error: URLError, resumeData: Data?) {
        failures.last = error
        if let resumeData, resumeData != record.resumeData { stored.replaceResumeData(with: resumeData) }
        save()
        // It begins another attempt when it is resumed.
        guard !intent.isSuspended else { return phase = .idle }
        let delay = failures.nextDelay()
        session.log("task \(record.submission.identifier): \(error.code.rawValue), another attempt in \(delay)")
        let time = DispatchTime.after(delay)
        phase = .retrying(until: time)
        session.perform(at: time) { [weak self] in
            // The end of an earlier wait is ignored.
            guard let self, case .retrying(until: time) = phase else { return }
            begin()
        }
    }

    /// Begins a delayed attempt now.
    func retryNow() {
        guard case .retrying = phase else { return }
        failures.resetDelay()
        begin()
    }

    /// The program's settings have changed: an attempt that has yet to make a request is replaced by one with these.
    func renew() {
        guard case .running(let attempt) = phase, attempt.stop == nil, attempt.hasYetToBegin(record.submission)
        else { return }
        session.transfers.abandon(attempt.task)
        attempt.discard()
        phase = .idle
        if !intent.isSuspended { begin() }
    }

    // MARK: - The time-out clock

    /// Starts the clock once the begin date is seen to have passed: the time before it doesn't count. If the clock is already running, the
    /// time-out may have changed with the program.
    private func startClock() {
        if !isTimed, let wait = BeginDatePolicy.wait(for: intent.settings.earliestBeginDate, at: Date()) {
            return session.timeouts.set(self, after: wait)
        }
        clock.start()
        session.clockStarted(self, clock.remaining(of: session.resourceTimeout))
    }

    var isTimed: Bool { clock.isRunning }
    /// Whether it waits for its begin date.
    private var isWaiting: Bool {
        guard case .running = phase else { return false }
        return !intent.isSuspended && !isTimed
    }
    /// How long agents have worked on it, in seconds.
    var elapsed: TimeInterval { clock.elapsed() }

    private func stopClock() {
        clock.stop()
        session.timeouts.cancel(self)
    }

    /// The task has run out of time, or its begin date may have come.
    func expire() {
        if isWaiting { return startClock() }
        switch phase {
        // An attempt that is already being stopped ends for its first reason.
        case .running(let attempt) where attempt.stop == nil:
            if let failure = attempt.failureToConnect { failures.last = failure }
            attempt.stop(.expired, keepsPartialFile: true)
        case .idle, .retrying: end(timedOut, resumeData: record.resumeData, upload: record.upload)
        case .running, .takingOver, .syncing, .ended: break
        }
    }

    private var timedOut: URLError { failures.timedOut(record.submission.request.url) }

    // MARK: - News from the attempt

    func noteWaitingForHost() {
        progress.isWaitingForHost = true
        session.send(.event(key, .isWaitingForConnectivity))
    }

    func wrote(_ count: Int64, total: Int64, of expected: Int64, _ task: URLSessionTask) {
        progress.noteReceived(count, total: total, of: expected)
        note(task)
        failures.noteProgress(to: total)
        guard case .running(let attempt) = phase,
            attempt.wrote(count, total: total, resumableSize: session.resumableSize)
        else { return }
        task.engine?.checkpoint { [session = session] data in
            session.perform {
                guard let data, case .running(let current) = self.phase, current === attempt else { return }
                self.stored.replaceResumeData(with: data)
                self.save()
            }
        }
    }

    func resumed(at offset: Int64, of expected: Int64, _ task: URLSessionTask) {
        progress.noteResumed(at: offset, of: expected)
        note(task)
        session.send(.event(key, .resumed(offset: offset, expectedTotalBytes: expected)))
    }

    /// - Parameter growth: Equal to `total` if the body is sent from its beginning.
    func sent(_ growth: Int64, total: Int64, of expected: Int64, _ task: URLSessionTask) {
        progress.noteSent(growth, total: total, of: expected, continuesUpload: record.submission.upload != nil)
        note(task)
        failures.noteProgress(to: total)
    }

    /// A server has sent an informational response. If it makes the attempt's upload resumable, later attempts and agents use that:
    /// recorded once per request with the whole body, however often the server repeats it.
    func received(informational head: ResponseHead, by url: URL, _ task: URLSessionTask) {
        session.send(.event(key, .informational(head, to: URLRequest(url: url))))
        guard case .running(let attempt) = phase, attempt.task === task, head.status == 104,
            let offer = task.engine?.snapshot.uploadResource, offer != record.upload,
            record.submission.mayResume(at: offer)
        else { return }
        stored.record.upload = offer
        save()
    }

    func received(_ data: Data, _ task: URLSessionTask) {
        if case .running(let attempt) = phase { attempt.received(data) }
        progress.counters.received = task.countOfBytesReceived
        progress.counters.expectedToReceive = task.countOfBytesExpectedToReceive
        note(task)
    }

    /// Called before `completed`.
    func collected(_ metrics: URLSessionTaskMetrics) {
        if case .running(let attempt) = phase { attempt.head = metrics.metrics.hops.last?.head }
        if record.submission.ignoresMetrics != true { stored.record.add(MetricsDescription(metrics.metrics)) }
    }

    /// Gives the file the name that the record has for it, so that another agent finds it.
    func downloaded(to location: URL) {
        guard case .running(let attempt) = phase else { return }
        attempt.downloaded(to: location, as: stored.missingFile ?? TemporaryName.kept.make())
    }

    /// Reports progress to the program a little later, together with other tasks'.
    private func note(_ task: URLSessionTask) {
        progress.isWaitingForHost = nil
        if progress.response == nil { progress.response = ResponseDescription(task.response) }
        session.noteProgress(of: self)
    }

    // MARK: - Credentials

    /// Makes later requests omit the task's present credentials and cookies.
    func forgetCredentials(_ completion: @escaping @Sendable () -> Void) {
        credentials.removeAll(completion)
        guard !record.submission.cookies.isEmpty else { return }
        stored.record.submission.cookies = []
        save()
    }

    // MARK: - The end

    func completed(_ task: URLSessionTask, _ error: (any Error)?) {
        guard case .running(let attempt) = phase else { return }
        progress.response = ResponseDescription(task.response)
        progress.response?.setCookies = (task.response?.url).flatMap(credentials.cookies.fields(ofResponseFrom:))
        if let current = task.currentRequest, current.url != record.submission.request.url {
            progress.currentRequest = RequestDescription(current)
            progress.currentRequest?.body = nil
        }
        let error = error ?? stored.refusalForNow(in: task.response)
        if error == nil, attempt.failure == nil { return succeed(attempt) }
        defer { attempt.discard() }
        if let failure = attempt.failure { return end(aboutFile(failure), resumeData: nil) }
        let urlError = error as? URLError ?? URLError(.unknown)
        let data = attempt.resumeData ?? urlError.downloadTaskResumeData
        stored.removeBody(of: urlError.uploadTaskResumeData)
        let isAnswered = isAnswered
        let upload = isAnswered ? nil : record.upload
        let length = attempt.task.countOfBytesReceived
        let mayRetry = failures.mayRetry(after: urlError, attempt.head, length)
        switch attempt.stop {
        case .cancelled:
            let keepsFile = intent.cancellation == .keepingPartialFile
            if !keepsFile { stored.removePartialFile(of: data) }
            end(record.cancellationError, resumeData: keepsFile ? data : nil, upload: keepsFile ? upload : nil)
        case .expired:
            end(timedOut, file: attempt.takeIncompleteBody(), resumeData: data ?? record.resumeData, upload: upload)
        case nil where mayRetry && !isAnswered:
            retry(after: urlError, resumeData: data)
        case nil:
            let upload = urlError.uploadTaskResumeData == nil ? nil : record.upload
            end(urlError, file: attempt.takeIncompleteBody(), resumeData: data, upload: upload)
        }
    }

    /// Whether the server has processed the request, so that sending it again might have its effect twice.
    private var isAnswered: Bool {
        !record.submission.mayBeRepeated && progress.response.map { UploadStep.isLast($0.status) } ?? false
    }

    private func succeed(_ attempt: AgentAttempt) {
        let requests = progress.counters.requests
        progress.counters = attempt.task.engine?.snapshot.counters ?? TaskCounters()
        progress.counters.requests = requests
        do throws(URLError) {
            guard let file = try attempt.closeFile(), !mayGoUnrecorded else { return finish(attempt) }
            sync(file, of: attempt)
        } catch {
            finish(attempt, aboutFile(error))
        }
    }

    /// Turns an error about one of the task's files into one about its request.
    private func aboutFile(_ error: URLError) -> URLError {
        error.forRequest(to: record.submission.request.url)
    }

    private func finish(_ attempt: AgentAttempt, _ error: URLError? = nil) {
        end(error, file: error == nil ? attempt.takeFile() : nil, resumeData: nil)
        attempt.discard()
    }

    /// Records the end before syncing the file, which takes long for a long one: if this agent is killed meanwhile, the next finds the end.
    /// After a loss of power, the file's length says whether it is complete.
    private func sync(_ file: String, of attempt: AgentAttempt) {
        let ending = prepareEnd(nil, file: attempt.takeFile(), resumeData: nil)
        attempt.discard()
        phase = .syncing
        let isRecorded = save()
        sync(file, ending, isRecorded: isRecorded)
    }

    private func sync(_ file: String, _ ending: TaskEnding, isRecorded: Bool) {
        session.sync(file) { [self] result in
            guard case .syncing = phase else { return }
            switch result {
            case .failure(let error) where !error.isTransient:
                end(aboutFile(error), resumeData: nil)
            case .failure where !session.isAttached:
                let delay = failures.nextDelay()
                session.after(delay) { [weak self] in
                    // Forgotten meanwhile, perhaps along with its session.
                    guard let self, case .syncing = phase else { return }
                    sync(file, ending, isRecorded: isRecorded)
                }
            case .failure, .success:
                // A program that waits for the file takes it even if it can't be synced now. Until then, its length says whether it is
                // complete.
                phase = .ended(isRecorded: isRecorded)
                if !isRecorded { recordEnd() }
                report(ending)
            }
        }
    }

    private func end(_ error: URLError?, file: String? = nil, resumeData: Data?, upload: UploadResource? = nil) {
        let ending = prepareEnd(error, file: file, resumeData: resumeData, upload: upload)
        phase = .ended(isRecorded: false)
        recordEnd()
        report(ending)
    }

    /// Puts the end into the record, without saving it.
    private func prepareEnd(
        _ error: URLError?,
        file: String?,
        resumeData: Data?,
        upload: UploadResource? = nil
    ) -> TaskEnding {
        stopClock()
        failures.resetDelay()
        stored.replaceResumeData(with: resumeData)
        let ending = TaskEnding(
            error: error.map(ErrorDescription.init),
            file: file,
            fileLength: file.flatMap(session.folder.length),
            resumeData: resumeData,
            upload: upload,
            progress: progress,
            // An earlier ending is one whose file couldn't be synced.
            metrics: record.ending?.metrics ?? record.metrics
        )
        stored.record.ending = ending
        stored.record.metrics = nil
        return ending
    }

    private func report(_ ending: TaskEnding) {
        let result = ending.error.map { "failed with \($0.code)" } ?? "done"
        session.log("task \(record.submission.identifier): \(result), \(progress.counters.received) bytes received")
        session.taskEnded(self, ending)
    }

    /// How long a program may take to acknowledge an end before the end is recorded anyway.
    private static let unrecordedTime = Duration.seconds(1)

    /// Whether a success needn't be recorded, since the program is about to take it: the bytes are so few that repeating the task, if
    /// program and agent are both killed first, costs less than recording the ends of all such tasks.
    private var mayGoUnrecorded: Bool {
        session.isAttached && record.submission.mayBeRepeated && progress.counters.received < session.resumableSize
    }

    /// Records the end before the program is told, unless it may go unrecorded.
    private func recordEnd() {
        guard record.ending?.error == nil, mayGoUnrecorded else {
            save()
            return
        }
        session.unrecordedEnds.set(self, after: Self.unrecordedTime)
    }

    /// The program is slow to acknowledge, or gone; or there was no room for the record earlier.
    func recordUnrecordedEnd() {
        guard case .ended(isRecorded: false) = phase else { return }
        // A short file: longer ones are already synced. If this fails, the length says whether the file is complete.
        if let file = record.ending?.file { try? session.folder.syncFile(file) }
        save()
    }

    /// The program knows of the end: nothing of the task is kept. The task may be running again, if an agent told the program and was
    /// killed before recording the end. If this throws, the record is still there, and this may be called again.
    func forget() throws(SystemError) {
        stopClock()
        session.unrecordedEnds.cancel(self)
        if case .running(let attempt) = phase {
            attempt.task.cancel()
            attempt.discard()
        }
        phase = .ended(isRecorded: true)
        try stored.remove()
    }

    /// Saves the record; returns false on failure. The task continues, and the next change saves it. No change follows an end, which is
    /// retried.
    @discardableResult
    private func save() -> Bool {
        stored.record.elapsed = clock.elapsed()
        do throws(URLError) {
            try stored.save()
            if hasEnded { phase = .ended(isRecorded: true) }
            return true
        } catch {
            session.log(
                "task \(record.submission.identifier): its record can't be written: \(error.localizedDescription)"
            )
            if hasEnded { session.unrecordedEnds.set(self, after: failures.nextDelay()) }
            return false
        }
    }
}

extension AgentTask: Hashable {
    static func == (one: AgentTask, other: AgentTask) -> Bool { one === other }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
