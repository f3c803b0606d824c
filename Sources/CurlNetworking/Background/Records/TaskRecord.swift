import Foundation

/// What is kept of a task, so that another agent can go on with it.
struct TaskRecord: Codable, Sendable {
    static let currentVersion = 1

    private(set) var version = Self.currentVersion
    var submission: TaskSubmission
    /// What a download goes on from: newer than the submission's.
    var resumeData: Data?
    /// Where an upload goes on, if its server has offered that.
    var upload: UploadResource?
    /// For how long agents have worked on it, in seconds; with `timeoutIntervalForResource` it ends.
    var elapsed: TimeInterval = 0
    /// Set once it is over, until the program has acknowledged that.
    var ending: TaskEnding?

    init(_ submission: TaskSubmission) {
        self.submission = submission
        resumeData = submission.resumeData
        upload = submission.upload.flatMap { submission.mayGoOn(at: $0) ? $0 : nil }
    }

    /// Whether the task has succeeded with so little that making it once more, where program and agent are killed before the end is told, costs
    /// less than writing down the ends of all such tasks.
    ///
    /// - Parameter size: In bytes.
    func mayBeRepeated(below size: Int64) -> Bool {
        guard submission.kind == .download, ["GET", "HEAD"].contains(submission.request.method), let ending else {
            return false
        }
        return ending.error == nil && ending.progress.counters.received < size
    }

    var name: RecordName { RecordName(identifier: submission.identifier, key: submission.key) }

    /// Why this can't be a record of ours, whoever has written it; nil if it may be.
    var fault: String? {
        if version != Self.currentVersion { return "version \(version)" }
        if let fault = submission.fault { return fault }
        if let file = ending?.file, !SessionFolder.isFileName(file) { return "a file elsewhere" }
        if let upload, !submission.mayGoOn(at: upload) { return "an upload elsewhere" }
        return (0...Self.longest).contains(elapsed) ? nil : "a time that makes no sense"
    }

    /// In seconds: a century, which is as long as a time-out may be.
    private static let longest: TimeInterval = 100 * 366 * 24 * 60 * 60
}

extension TaskSubmission {
    /// Why an agent can't do this; nil if it may try.
    var fault: String? {
        switch Scheme(request.url) {
        case .http, .https: break
        default: return "a URL that is neither http nor https"
        }
        if Origin(request.url)?.isUnixSocket != false { return "no host" }
        return RecordName.identifiers.contains(identifier) ? nil : "no number"
    }

    /// Whether an upload can be resumed there: the request's credentials go to its own origin alone.
    func mayGoOn(at resource: UploadResource) -> Bool {
        guard case .upload = kind, let origin = Origin(request.url) else { return false }
        return Origin(resource.url) == origin
    }
}

/// What is kept of a session while it has tasks.
struct SessionRecord: Codable, Sendable {
    private(set) var version = TaskRecord.currentVersion
    var identifier: String
    var settings: SessionDescription
    /// Whether the program's delegate answers challenges about connections; nil as long as nobody has asked it.
    var answersChallenges: Bool?
    /// The launch command was run, and nobody has come since.
    var hasLaunched = false

    init(identifier: String, settings: SessionDescription) {
        self.identifier = identifier
        self.settings = settings
    }
}
