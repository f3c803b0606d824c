import CurlTransport
import Foundation

/// One task of a background session, in the agent: it is transferred by an ordinary task, again and again if need be, until it has ended
/// and the program knows.
///
/// `@unchecked Sendable`: used on the agent's queue alone.
final class AgentTask: @unchecked Sendable {
    private enum Phase {
        /// Nothing is transferred, and nothing is to be: it is suspended.
        case idle
        case running(URLSessionTask)
        /// The network has failed; the next attempt begins when the time has come.
        case retrying
        /// Without a record of that, the program has yet to take it.
        case ended(isRecorded: Bool)
    }

    private var stored: StoredTask
    private(set) var progress: TaskProgress
    private unowned let session: AgentSession
    private var phase = Phase.idle
    private var backoff = RetryBackoff()
    /// Of the current attempt, or of the wait for it: what was scheduled for an earlier one is void.
    private var turn = 0
    private var clock: TimeoutClock
    private var hasExpired = false
    /// Of all attempts.
    private var metrics: MetricsDescription?

    // MARK: Of the current attempt

    /// What a server says to an upload.
    private var body: DownloadFile?
    private var finishedFile: String?
    private var producedResumeData: Data?
    /// Whether the record names the file that the attempt writes.
    private var isCheckpointed = false
    private var written: Int64 = 0

    init(_ stored: StoredTask, in session: AgentSession) {
        self.stored = stored
        self.session = session
        let record = stored.record
        clock = TimeoutClock(earlier: record.elapsed)
        progress = record.ending?.progress ?? TaskProgress(key: record.submission.key)
        if record.ending != nil { phase = .ended(isRecorded: true) }
        if case .upload(let file) = record.submission.kind { progress.counters.expectedToSend = file.length }
    }

    var record: TaskRecord { stored.record }
    var key: UUID { stored.key }
    private var wish: TaskWish { record.submission.wish }

    var hasEnded: Bool { if case .ended = phase { true } else { false } }

    /// Whether the agent has to stay for it.
    var needsAgent: Bool { !hasEnded && !wish.isSuspended }

    var listing: TaskListing { TaskListing(submission: record.submission, progress: progress, ending: record.ending) }

    var status: SessionStatus.Task {
        let state =
            switch phase {
            case .idle: "suspended"
            case .running: wish.isSuspended ? "suspended" : "running"
            case .retrying: wish.isSuspended ? "suspended" : "waiting"
            case .ended: record.ending?.error == nil ? "finished" : "failed"
            }
        return SessionStatus.Task(
            identifier: record.submission.identifier,
            kind: record.submission.kind == .download ? "download" : "upload",
            url: AgentLog.text(of: record.submission.request.url),
            state: state,
            counters: progress.counters
        )
    }

    /// The names of its files in the session's folder.
    var files: Set<String> { stored.files }

    // MARK: - What the program wants

    /// Goes on with a task that has been there before, or begins a new one.
    func start() {
        guard !hasEnded else { return }
        if wish.cancellation != nil { return cancel() }
        if !wish.isSuspended { begin() }
    }

    func change(to new: TaskWish) {
        guard !hasEnded, new != wish, wish.cancellation == nil else { return }
        let old = wish
        stored.record.submission.wish = new
        if new.cancellation != nil { return cancel() }
        save()
        if case .running(let task) = phase { new.settings.apply(to: task) }
        guard new.isSuspended != old.isSuspended else { return }
        switch phase {
        case .running(let task):
            new.isSuspended ? task.suspend() : task.resume()
            new.isSuspended ? stopClock() : startClock()
        case .idle, .retrying:
            if new.isSuspended {
                stopClock()
                turn += 1
                phase = .idle
            } else {
                begin()
            }
        case .ended:
            break
        }
    }

    /// The user has ended the program's transfers.
    func forceQuit() {
        guard !hasEnded, wish.cancellation == nil else { return }
        stored.record.submission.wish.cancellation = .discardingBody
        // The user is told that it's done: an agent that is killed now must not go on with it later.
        save()
        cancel(because: .userForceQuitApplication)
    }

    private func cancel(because reason: URLError.BackgroundTaskCancelledReason? = nil) {
        cancellationReason = reason
        switch phase {
        case .running(let task):
            guard wish.cancellation == .keepingPartialFile, let download = task as? URLSessionDownloadTask else {
                return task.cancel()
            }
            let turn = turn
            download.cancel { [weak self] data in
                guard let self, turn == self.turn else { return }
                producedResumeData = data
            }
        case .idle, .retrying:
            let data = wish.cancellation == .keepingPartialFile ? record.resumeData : nil
            end(cancelled, resumeData: data)
        case .ended:
            break
        }
    }

    private var cancellationReason: URLError.BackgroundTaskCancelledReason?

    private var cancelled: URLError { .cancelled(record.submission.request.url, because: cancellationReason) }

    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) {
        guard case .running(let task) = phase, let engine = task.engine else { return completion(record.resumeData) }
        engine.checkpoint(completion)
    }

    // MARK: - Attempts

    private func begin() {
        turn += 1
        if case .upload(let file) = record.submission.kind, let problem = file.problem {
            return end(problem, resumeData: nil)
        }
        (finishedFile, producedResumeData) = (nil, nil)
        (isCheckpointed, written) = (false, 0)
        dropBody()
        let task: URLSessionTask
        do {
            task = try session.makeTask(for: record)
        } catch {
            return end(error, resumeData: nil)
        }
        phase = .running(task)
        wish.settings.apply(to: task)
        startClock()
        task.resume()
    }

    private func retry(after error: URLError) {
        phase = .retrying
        dropBody()
        if let data = producedResumeData, data != record.resumeData { stored.replaceResumeData(with: data) }
        save()
        let delay = backoff.delay(jitter: .random(in: 0...1))
        session.log("task \(record.submission.identifier): \(error.code.rawValue), another attempt in \(delay)")
        turn += 1
        let turn = turn
        session.after(delay) { [weak self] in
            guard let self, turn == self.turn, case .retrying = phase else { return }
            begin()
        }
    }

    /// Begins an attempt that waits for its time.
    func retryNow() {
        guard case .retrying = phase else { return }
        backoff.reset()
        begin()
    }

    // MARK: - The clock of the time-out

    private func startClock() {
        guard clock.start() else { return }
        session.timeouts.set(self, after: clock.remaining(of: session.resourceTimeout))
    }

    private func stopClock() {
        clock.stop()
        session.timeouts.cancel(self)
    }

    /// The time is over.
    func expire() {
        hasExpired = true
        switch phase {
        case .running(let task): task.cancel()
        case .idle, .retrying: end(timedOut, resumeData: record.resumeData)
        case .ended: break
        }
    }

    private var timedOut: URLError {
        URLError(.timedOut, record.submission.request.url, "The task took longer than timeoutIntervalForResource.")
    }

    // MARK: - What the attempt tells

    func wrote(_ total: Int64, of expected: Int64, _ task: URLSessionTask) {
        progress.counters.received = total
        progress.counters.expectedToReceive = expected
        note(task)
        backoff.reset()
        // The download has started over, with another file.
        if total < written { isCheckpointed = false }
        written = total
        guard !isCheckpointed, total >= session.resumableSize else { return }
        isCheckpointed = true
        let turn = turn
        task.engine?.checkpoint { [session = session] data in
            session.perform {
                guard let data, turn == self.turn, case .running = self.phase else { return }
                self.stored.replaceResumeData(with: data)
                self.save()
            }
        }
    }

    func resumed(at offset: Int64, of expected: Int64, _ task: URLSessionTask) {
        written = offset
        progress.counters.received = offset
        progress.counters.expectedToReceive = expected
        note(task)
        session.send(.event(key, .resumed(offset: offset, expectedTotalBytes: expected)))
    }

    func sent(_ total: Int64, of expected: Int64, _ task: URLSessionTask) {
        progress.counters.sent = total
        progress.counters.expectedToSend = expected
        note(task)
    }

    /// A server has answered for the time being. If it offers to resume an upload, other attempts and other agents make use of that.
    func informed(_ head: ResponseHead, by url: URL) {
        session.send(.event(key, .informational(head, to: URLRequest(url: url))))
        guard !hasEnded, let offer = UploadResource(offeredBy: head, to: url), offer != record.upload,
            record.submission.mayGoOn(at: offer)
        else { return }
        stored.record.upload = offer
        save()
    }

    func received(_ data: Data, _ task: URLSessionTask) {
        do throws(URLError) {
            let file: DownloadFile
            if let body { file = body } else { file = try DownloadFile(in: session.folder.files) }
            body = file
            try data.withUnsafeBytes { bytes in Result { () throws(URLError) in try file.write(bytes) } }.get()
        } catch {
            failure = error
            task.cancel()
        }
        progress.counters.received = task.countOfBytesReceived
        note(task)
    }

    /// Why the agent itself had to give up.
    private var failure: URLError?

    func collected(_ metrics: URLSessionTaskMetrics) {
        if record.submission.ignoresMetrics == true { return }
        let latest = MetricsDescription(metrics.metrics)
        if self.metrics == nil { self.metrics = latest } else { self.metrics?.add(latest) }
    }

    /// The file is the agent's to keep.
    func downloaded(to location: URL) {
        let name = TemporaryName.kept.make()
        if rename(location.path, session.folder.path(ofFile: name)) == 0 {
            finishedFile = name
        } else {
            failure = URLError(.cannotMoveFile, location, "The download could not be kept.", .current)
        }
    }

    /// The program hears of all that goes on together, a little later.
    private func note(_ task: URLSessionTask) {
        progress.counters.requests = task.engine?.snapshot.counters.requests ?? 0
        if progress.response == nil { progress.response = ResponseDescription(task.response) }
        session.noteProgress(of: self)
    }

    // MARK: - The end

    func completed(_ task: URLSessionTask, _ error: (any Error)?) {
        guard case .running = phase else { return }
        progress.response = ResponseDescription(task.response)
        if let current = task.currentRequest, current.url != record.submission.request.url {
            progress.currentRequest = RequestDescription(current)
        }
        if let failure = failure.take() { return end(failure, resumeData: nil) }
        guard let error else { return succeed(task) }
        let urlError = error as? URLError ?? URLError(.unknown)
        let data = producedResumeData ?? urlError.downloadTaskResumeData
        dropUpload(urlError.uploadTaskResumeData)
        if wish.cancellation != nil { return end(cancelled, resumeData: producedResumeData) }
        if hasExpired { return end(timedOut, resumeData: data ?? record.resumeData) }
        producedResumeData = data
        if urlError.isTransient { return retry(after: urlError) }
        end(urlError, resumeData: data)
    }

    private func succeed(_ task: URLSessionTask) {
        let counters = task.engine?.snapshot.counters ?? TaskCounters()
        progress.counters = counters
        if let body = body.take() {
            finishedFile = body.keep()?.name
            if finishedFile == nil {
                return end(URLError(.cannotCloseFile, nil, "The response could not be kept."), resumeData: nil)
            }
        }
        end(nil, resumeData: nil)
    }

    private func end(_ error: URLError?, resumeData: Data?) {
        stopClock()
        turn += 1
        phase = .ended(isRecorded: false)
        dropBody()
        if error != nil, let file = finishedFile.take() { session.folder.removeFile(file) }
        stored.replaceResumeData(with: resumeData)
        let ending = TaskEnding(
            error: error.map(ErrorDescription.init),
            file: finishedFile,
            resumeData: resumeData,
            progress: progress,
            metrics: metrics
        )
        stored.record.ending = ending
        recordEnd()
        let result = error.map { "failed with \($0.code.rawValue)" } ?? "done"
        session.log("task \(record.submission.identifier): \(result), \(progress.counters.received) bytes received")
        session.taskEnded(self, ending)
    }

    /// How long a program may take to acknowledge an end before it is written down all the same.
    private static let unrecordedTime = Duration.seconds(1)

    /// Of an end there is a record before the program is told, unless the task may be repeated.
    private func recordEnd() {
        guard record.mayBeRepeated(below: session.resumableSize), session.isAttached else { return save() }
        session.unrecordedEnds.set(self, after: Self.unrecordedTime)
    }

    /// The program takes its time, or has gone.
    func recordUnrecordedEnd() {
        if case .ended(isRecorded: false) = phase { save() }
    }

    /// The program knows of the end: nothing of the task stays. If it was told by an agent that was killed before there was a record of that,
    /// the task is under way again.
    func forget() {
        stopClock()
        session.unrecordedEnds.cancel(self)
        turn += 1
        if case .running(let task) = phase { task.cancel() }
        phase = .ended(isRecorded: true)
        dropBody()
        if record.ending == nil, let finishedFile { session.folder.removeFile(finishedFile) }
        stored.remove()
    }

    /// An upload goes on with the task's own request and file: what an ordinary session leaves for it isn't needed.
    private func dropUpload(_ resumeData: Data?) {
        let kept = resumeData.flatMap { try? UploadResumeData(decoding: $0) }
        kept?.body.remove(in: session.folder.files)
    }

    private func dropBody() {
        body.take()?.remove()
    }

    /// What can't be written down now is written down with the next change; the task goes on meanwhile.
    private func save() {
        if hasEnded { phase = .ended(isRecorded: true) }
        stored.record.elapsed = clock.elapsed()
        do throws(URLError) {
            try stored.save()
        } catch {
            session.log(
                "task \(record.submission.identifier): its record can't be written: \(error.localizedDescription)"
            )
        }
    }
}

extension AgentTask: Hashable {
    static func == (one: AgentTask, other: AgentTask) -> Bool { one === other }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
