import Foundation

// The messages between a program and its agent. Both belong to the same user, but each treats the other's messages as untrusted: they may
// be of another version, or damaged.

/// A message from a program.
enum ClientMessage: Codable, Sendable {
    /// The first message of a connection.
    case hello(Hello)
    /// A new task. The agent answers `accepted` once it is recorded on disk. A second one with the same key changes nothing.
    case submit(TaskSubmission)
    /// The program's current intent for a task.
    case intent(UUID, TaskIntent)
    /// The program has been told of the task's end: the agent forgets the task, and answers `forgotten`. It may not be the agent that told
    /// the program.
    case acknowledge(UUID)
    /// The agent answers `checkpoint` with the same number.
    case checkpoint(UUID, Int)
    case answer(Int, ChallengeReply)
    /// Later requests are to use new connections, and, if `forgets`, none of the earlier credentials, decisions and cookies. The agent
    /// answers `renewed` with the same number.
    case renew(Int, forgets: Bool)
    /// The agent answers `status`. Sent without `hello`.
    case status
    /// Cancels all tasks of one session or of all, as if the user had force-quit the program. Sent without `hello`; the agent answers
    /// `done`.
    case cancelAll(session: String?)

    private enum CodingKeys: String, CodingKey {
        case hello, submit, acknowledge, checkpoint, answer, renew, status, cancelAll
        /// The name that version 4 of the protocol has for it.
        case intent = "wish"
    }

    /// The key of the task that the message is about, if any.
    var task: UUID? {
        switch self {
        case .submit(let submission): submission.key
        case .intent(let key, _), .acknowledge(let key), .checkpoint(let key, _): key
        case .hello, .answer, .renew, .status, .cancelAll: nil
        }
    }
}

/// A message from an agent.
enum AgentMessage: Codable, Sendable {
    /// One of the session's tasks. All of them are listed before `welcome`.
    case listing(TaskListing)
    /// The answer to `hello`: the program is attached to the session.
    case welcome
    /// The other answer to `hello`, after which the connection ends, and to `status` and `cancelAll`.
    case refused(Refusal)
    case accepted(UUID)
    case progress([TaskProgress])
    case event(UUID, TaskEvent)
    /// `key` is nil for a question about a connection that belongs to no particular task.
    case question(Int, key: UUID?, ChallengeQuery)
    case ended(UUID, TaskEnding)
    case checkpoint(Int, Data?)
    case forgotten(UUID)
    case renewed(Int)
    case status([SessionStatus])
    case done
}

/// How a program introduces itself to an agent, to be attached to a session.
struct Hello: Codable, Sendable {
    /// The version of the protocol. Whatever else changes, `hello` keeps its name and this field.
    static let currentVersion = 4

    /// What a program of this version says of its session, in the same object as the version.
    struct Session: Codable, Sendable {
        var identifier: String
        var settings: SessionDescription
    }

    let version: Int
    /// nil for another version, whose fields may differ.
    let session: Session?

    init(identifier: String, settings: SessionDescription) {
        version = Self.currentVersion
        session = Session(identifier: identifier, settings: settings)
    }

    private enum CodingKeys: CodingKey { case version }

    init(from decoder: any Decoder) throws {
        version = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .version)
        session = try version == Self.currentVersion ? Session(from: decoder) : nil
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(version, forKey: .version)
        try session?.encode(to: encoder)
    }
}

/// Why an agent doesn't attach a program to its session, or doesn't do what another message asks. Texts are for people.
enum Refusal: Codable, Sendable, Equatable {
    /// Another program is attached to the session.
    case inUse(pid: Int32)
    /// The agent speaks this version.
    case version(Int)
    /// Another attempt, a little later, may succeed.
    case notNow(String)
    case other(String)
}

/// What an agent needs to know about a new task, and keeps as long as it has the task.
struct TaskSubmission: Codable, Sendable {
    enum Kind: Codable, Sendable, Equatable {
        case download
        case upload(UploadFile)
    }

    /// Identifies the task, whatever its number.
    var key: UUID
    /// The task's number in its session.
    var identifier: Int
    var kind: Kind
    var request: RequestDescription
    /// What a download continues from.
    var resumeData: Data?
    /// Where an upload continues.
    var upload: UploadResource?
    /// The cookies that the program's storage has for the request.
    var cookies: [CookieDescription]
    var intent: TaskIntent
    /// Whether no delegate has a method for the task's metrics, which then needn't be kept or sent. nil for no.
    var ignoresMetrics: Bool?

    private enum CodingKeys: String, CodingKey {
        case key, identifier, kind, request, resumeData, upload, cookies, ignoresMetrics
        /// The name in the records of tasks, and in version 4 of the protocol.
        case intent = "wish"
    }
}

/// What the program wants of a task. Each intent replaces the previous one.
struct TaskIntent: Codable, Sendable, Equatable {
    enum Cancellation: String, Codable, Sendable {
        case discardingBody, keepingPartialFile
    }

    var isSuspended: Bool
    var cancellation: Cancellation?
    var settings: TaskSettings
    /// Names the task's own delegate, or the object that it stands in for, if that decides about connections: tasks with the same name
    /// share decisions and connections, which no others use. nil if the session's delegate decides.
    var decider: UUID?

    var withoutDescription: TaskIntent {
        var intent = self
        intent.settings.description = nil
        return intent
    }
}

/// What an attaching program is told about a task.
struct TaskListing: Codable, Sendable {
    var submission: TaskSubmission
    /// Without the response if there is an ending, which contains it.
    var progress: TaskProgress
    /// The end of a task whose end hasn't been acknowledged.
    var ending: TaskEnding?

    /// Without what may make it long: the request's body, and what progress and ending can do without.
    var abridged: TaskListing {
        var abridged = self
        abridged.submission.request.body = nil
        abridged.progress = progress.abridged
        abridged.ending = ending?.abridged
        return abridged
    }
}

/// The progress of a task. Each report replaces the previous one.
struct TaskProgress: Codable, Sendable {
    /// What a download's delegate is told when it continues, in bytes.
    struct Resumption: Codable, Sendable, Equatable {
        var offset: Int64
        /// If unknown, the value that `countOfBytesExpectedToReceive` then has.
        var expected: Int64
    }

    var key: UUID
    /// `requests` counts those in which this agent sent the body from its beginning: none if it only sent the rest of one.
    var counters = TaskCounters()
    /// How much an earlier task sent of the upload that this one continues, in bytes; nil if none, or until the server has said so. Not
    /// reported as this task's.
    var sentEarlier: Int64?
    /// Without its body, which is the original request's as long as the method is. nil if it is the original request.
    var currentRequest: RequestDescription?
    var response: ResponseDescription?
    /// Whether it waits for its host to become reachable; nil for no.
    var isWaitingForHost: Bool?
    /// Where this agent last continued the download.
    var resumption: Resumption?

    /// Notes that `count` bytes were written, and `total` so far.
    mutating func noteReceived(_ count: Int64, total: Int64, of expected: Int64) {
        // The body starts over.
        if count == total, counters.received > 0 { counters.restarts += 1 }
        counters.received = total
        counters.expectedToReceive = expected
    }

    mutating func noteResumed(at offset: Int64, of expected: Int64) {
        counters.received = offset
        counters.expectedToReceive = expected
        resumption = Resumption(offset: offset, expected: expected)
    }

    /// - Parameters:
    ///   - growth: The new bytes. Equal to `total` if the body is sent from its beginning.
    ///   - continuesUpload: Whether the task was created to continue another one's upload.
    mutating func noteSent(_ growth: Int64, total: Int64, of expected: Int64, continuesUpload: Bool) {
        if growth == total {
            counters.requests += 1
            counters.sent = total
        } else {
            let isFirst = counters.requests == 0 && counters.sent == 0
            if isFirst, continuesUpload { sentEarlier = total - growth }
            // Lost bytes are sent again.
            counters.sent = max(counters.sent, total)
        }
        counters.expectedToSend = expected
    }

    /// Without what may make it long: the response's fields.
    var abridged: TaskProgress {
        var abridged = self
        abridged.response?.fields = [:]
        abridged.response?.setCookies = nil
        return abridged
    }
}

extension TaskProgress.Resumption {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        offset = try container.decodeCount(forKey: .offset)
        expected = try container.decode(Int64.self, forKey: .expected)
    }
}

/// How a task ended.
struct TaskEnding: Codable, Sendable {
    /// nil for success.
    var error: ErrorDescription?
    /// The name of the file with the response's body, a download's or an upload's, in the session's folder; without slashes.
    var file: String?
    /// In bytes; nil without one, or in the record of an earlier version.
    var fileLength: Int64?
    /// Of a download that was cancelled to be resumed later, or that failed.
    var resumeData: Data?
    /// Where an upload can be resumed, if it was cancelled for that, or failed.
    var upload: UploadResource?
    var progress: TaskProgress
    var metrics: MetricsDescription?

    /// Without what may make it long: the metrics, and the response's fields.
    var abridged: TaskEnding {
        var abridged = self
        abridged.metrics = nil
        abridged.progress = progress.abridged
        return abridged
    }
}

/// A session as shown to users.
struct SessionStatus: Codable, Sendable {
    struct Task: Codable, Sendable {
        var identifier: Int
        var kind: String
        /// Without query and credentials.
        var url: String
        var state: String
        var counters: TaskCounters
    }

    var identifier: String
    /// The attached program.
    var pid: Int32?
    var tasks: [Task]
}
