import Foundation

// What a program and its agent say to each other. Both are of the same user, and each treats what the other says as untrusted all the same:
// it may be of another version, or damaged.

/// What a program says.
enum ClientMessage: Codable, Sendable {
    /// The first message of a connection.
    case hello(Hello)
    /// A new task. The agent answers `accepted` once a record of it is on disk. A second one with the same key changes nothing.
    case submit(TaskSubmission)
    /// What the program wants of a task now.
    case wish(UUID, TaskWish)
    /// The program has been told of the task's end: the agent forgets the task, and answers `forgotten`. It may be another agent than the one
    /// that told.
    case acknowledge(UUID)
    /// The agent answers `checkpoint` with the same number.
    case checkpoint(UUID, Int)
    case answer(Int, ChallengeReply)
    /// The agent answers `status`. Without `hello`.
    case status
    /// Cancels all tasks of a session, or of all, as if the user had quit the program for good. Without `hello`; the agent answers `done`.
    case cancelAll(session: String?)

    /// The key of the task that it is about, if it is about one.
    var task: UUID? {
        switch self {
        case .submit(let submission): submission.key
        case .wish(let key, _), .acknowledge(let key), .checkpoint(let key, _): key
        case .hello, .answer, .status, .cancelAll: nil
        }
    }
}

/// What an agent says.
enum AgentMessage: Codable, Sendable {
    /// The answer to `hello`: the program is attached to the session.
    case welcome([TaskListing])
    /// The other answer. The connection ends.
    case refused(Refusal)
    case accepted(UUID)
    case progress([TaskProgress])
    case event(UUID, TaskEvent)
    /// `key` is nil for a question about a connection of no particular task.
    case question(Int, key: UUID?, ChallengeQuery)
    case ended(UUID, TaskEnding)
    case checkpoint(Int, Data?)
    case forgotten(UUID)
    case status([SessionStatus])
    case done
}

struct Hello: Codable, Sendable {
    /// Of the protocol. Whatever else changes, `hello` keeps its name and this field.
    static let currentVersion = 1

    var version = Self.currentVersion
    /// The session's.
    var identifier: String
    var settings: SessionDescription
}

enum Refusal: Codable, Sendable, Equatable {
    /// Another program is attached to the session.
    case inUse(pid: Int32)
    /// The agent speaks this version.
    case version(Int)
    case other(String)
}

/// What an agent needs to know of a new task, and keeps as long as it has the task.
struct TaskSubmission: Codable, Sendable {
    enum Kind: Codable, Sendable, Equatable {
        case download
        case upload(UploadFile)
    }

    /// Names the task, whoever's number it is.
    var key: UUID
    /// The task's number in its session.
    var identifier: Int
    var kind: Kind
    var request: RequestDescription
    /// What a download goes on from.
    var resumeData: Data?
    /// Where an upload goes on.
    var upload: UploadResource?
    /// Those that the program's storage has for the request.
    var cookies: [CookieDescription]
    var wish: TaskWish
    /// Whether no delegate has a method for the task's metrics, which then needn't be kept nor sent. nil for no.
    var ignoresMetrics: Bool?
}

/// What the program wants of a task. Each replaces the one before.
struct TaskWish: Codable, Sendable, Equatable {
    enum Cancellation: String, Codable, Sendable {
        case discardingBody, keepingPartialFile
    }

    var isSuspended: Bool
    var cancellation: Cancellation?
    var settings: TaskSettings
}

/// What a program that attaches gets to know of a task.
struct TaskListing: Codable, Sendable {
    var submission: TaskSubmission
    var progress: TaskProgress
    /// Of a task that has ended, and whose end was not acknowledged.
    var ending: TaskEnding?
}

/// How far a task is. Each replaces the one before.
struct TaskProgress: Codable, Sendable {
    var key: UUID
    var counters = TaskCounters()
    /// Only where it isn't the original one.
    var currentRequest: RequestDescription?
    var response: ResponseDescription?
}

/// How a task ended.
struct TaskEnding: Codable, Sendable {
    /// nil for success.
    var error: ErrorDescription?
    /// Where the body of the response is: a download's file, or what the server said to an upload. In the session's folder; a name without
    /// slashes.
    var file: String?
    /// Of a download that was cancelled to go on later, or that failed.
    var resumeData: Data?
    /// Where an upload can go on that was cancelled for that, or that failed.
    var upload: UploadResource?
    var progress: TaskProgress
    var metrics: MetricsDescription?
}

/// For those who look at an agent.
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
    /// The program that is attached.
    var pid: Int32?
    var tasks: [Task]
}
