import Foundation

/// The stored state of a task, from which another agent can continue it.
struct TaskRecord: Codable, Sendable {
    static let currentVersion = 1

    private(set) var version = Self.currentVersion
    var submission: TaskSubmission
    /// What a download continues from: newer than the submission's.
    var resumeData: Data?
    /// The partial file in the program's directory, until it has moved to where `resumeData` says; nil if there is none.
    private(set) var source: PartialFile?
    /// Where an upload can be resumed, if its server has offered that.
    var upload: UploadResource?
    /// Whether the user has force-quit the program, so that the intent's cancellation isn't the program's; nil for no. Not part of the
    /// intent, where agents and programs of an earlier version would refuse it.
    private var isForceQuit: Bool?
    /// How long agents have worked on the task, in seconds; limited by `timeoutIntervalForResource`.
    var elapsed: TimeInterval = 0
    /// The metrics of the attempts so far; nil once they are the ending's, and in the record of an earlier version.
    var metrics: MetricsDescription?
    /// Set once the task is over, until the program has acknowledged that.
    var ending: TaskEnding?

    init(_ submission: TaskSubmission) {
        self.submission = submission
        resumeData = submission.resumeData
        upload = submission.upload.flatMap { submission.mayResume(at: $0) ? $0 : nil }
    }

    /// Adopts the elapsed time in the session's record, if that is longer.
    mutating func noteElapsed(in session: SessionRecord) {
        let noted = session.elapsed?[submission.key.uuidString] ?? 0
        if (0...Self.longest).contains(noted) { elapsed = max(elapsed, noted) }
    }

    // MARK: - Cancellation

    /// The user has ended the program's transfers.
    mutating func forceQuit() {
        submission.intent.cancellation = .discardingBody
        isForceQuit = true
    }

    /// The error of the task once it is cancelled. It gives the reason if that isn't the program's.
    var cancellationError: URLError {
        .cancelled(submission.request.url, because: isForceQuit == true ? .userForceQuitApplication : nil)
    }

    // MARK: - The program's partial file

    /// Plans to move the partial file from the program's directory to `files`. One elsewhere stays there: it may be another task's.
    mutating func takeOver(from directory: URL?, to files: URL) {
        let decoded = decodedResumeData
        resumeData = nil
        guard let directory, let decoded, decoded.partialFile.isIn(directory) else { return }
        source = decoded.partialFile
        setPartialFile(decoded.partialFile.place(named: TemporaryName.kept.make(), in: files), in: decoded)
    }

    /// The name that the file gets in `files`, if it can be moved there.
    var nameOfSource: String? { decodedResumeData?.partialFile.name }

    /// The file has been moved; nil if it can't be, so that the download starts over.
    mutating func tookOver(_ partial: PartialFile?) {
        let decoded = decodedResumeData
        (source, resumeData) = (nil, nil)
        if let partial, let decoded { setPartialFile(partial, in: decoded) }
    }

    private var decodedResumeData: ResumeData? { resumeData.flatMap { try? ResumeData(decoding: $0) } }

    private mutating func setPartialFile(_ partial: PartialFile, in resumeData: ResumeData) {
        var changed = resumeData
        changed.partialFile = partial
        self.resumeData = changed.encoded()
    }

    // MARK: - Reading and writing

    /// The record without what may make it long: the metrics and, once the task has ended, the body that was sent, and what the ending can
    /// do without.
    var abridged: TaskRecord {
        var abridged = self
        abridged.metrics = nil
        if ending != nil { abridged.submission.request.body = nil }
        abridged.ending = ending?.abridged
        return abridged
    }

    /// Adds the metrics of another attempt.
    mutating func add(_ latest: MetricsDescription) {
        if metrics == nil { metrics = latest } else { metrics?.add(latest) }
    }

    var name: RecordName { RecordName(identifier: submission.identifier, key: submission.key) }

    /// Why this can't be a valid record; nil if it may be.
    var fault: String? {
        if version != Self.currentVersion { return "version \(version)" }
        if let fault = submission.fault { return fault }
        if let file = ending?.file, !SessionFolder.isFileName(file) { return "a file elsewhere" }
        if let upload, !submission.mayResume(at: upload) { return "an upload elsewhere" }
        return (0...Self.longest).contains(elapsed) ? nil : "a time that makes no sense"
    }

    /// In seconds: a century, the longest time-out.
    private static let longest: TimeInterval = 100 * 366 * 24 * 60 * 60
}

extension TaskSubmission {
    /// Whether the task changes nothing on the server, however often it is repeated.
    var mayBeRepeated: Bool { kind == .download && ["GET", "HEAD"].contains(request.method) }

    /// Whether the request is harmless as long as the server has received only its head.
    var isHarmlessWithoutBody: Bool {
        switch kind {
        case .download: mayBeRepeated || request.body?.isEmpty == false
        case .upload(let file): file.length > 0
        }
    }

    /// Why an agent can't do this; nil if it can try.
    var fault: String? {
        switch Scheme(request.url) {
        case .http, .https: break
        default: return "a URL that is neither http nor https"
        }
        if Origin(request.url)?.isUnixSocket != false { return "no host" }
        return RecordName.identifiers.contains(identifier) ? nil : "no number"
    }

    /// Whether this is an upload that may be resumed at `resource`.
    func mayResume(at resource: UploadResource) -> Bool {
        guard case .upload = kind else { return false }
        return resource.mayBelong(to: request.url)
    }
}

/// The stored state of a session, kept while it has tasks.
struct SessionRecord: Codable, Sendable {
    private(set) var version = TaskRecord.currentVersion
    var identifier: String
    var settings: SessionDescription
    /// Whether the program's delegate answers challenges about connections; nil until it has been asked.
    var answersChallenges: Bool?
    /// Whether the launch command was run, with no task submitted and no end acknowledged since.
    var hasLaunched = false
    /// How long agents have worked on the tasks, in seconds, by key: more recent than the tasks' own records. nil if nothing is.
    var elapsed: [String: TimeInterval]?

    init(identifier: String, settings: SessionDescription) {
        self.identifier = identifier
        self.settings = settings
    }

    /// Why this can't be a valid record; nil if it may be. For the log: without the settings' values, which may contain credentials.
    ///
    /// - Parameter files: The folder for the tasks' files.
    func fault(in files: URL) -> String? {
        if version != TaskRecord.currentVersion { return "version \(version)" }
        do {
            _ = try settings.makeConfiguration(in: files)
            return nil
        } catch {
            let name = (error as? CurlOptionsError).map { "curl.\($0.option)" } ?? "connectionProxyDictionary"
            return "settings that make no sense: \(name)"
        }
    }
}
