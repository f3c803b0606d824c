import Foundation

/// Does the work of one public task: the seam between `URLSessionTask` and whatever transfers its data. Any thread; nothing here blocks.
///
/// `TaskHandle` does it on an event loop; `BackgroundEngine` has a background session's agent do it.
protocol TaskEngine: AnyObject, Sendable {
    /// The task's number, unique in its session.
    var identifier: Int { get }

    /// The request the task was created with.
    var originalRequest: URLRequest? { get }

    /// Everything that the public properties show, as of one moment.
    var snapshot: TaskSnapshot { get }

    /// What the program has set.
    var settings: TaskSettings { get }

    /// Changes what the program has set. `change` must do nothing but the change itself.
    func changeSettings(_ change: (inout TaskSettings) -> Void)

    /// The task's own delegate, kept until the task is completed.
    var ownDelegate: (any URLSessionTaskDelegate)? { get set }

    // MARK: Wishes. `task` is the public object that the program holds.

    func resume(_ task: URLSessionTask)
    func suspend(_ task: URLSessionTask)
    func cancel(_ task: URLSessionTask)

    /// `handler` is called on the delegate queue; with nil if there is nothing to resume from.
    func cancel(_ task: URLSessionTask, byProducingResumeData handler: @escaping @Sendable (Data?) -> Void)

    /// Resume data of a download that continues; nil if there is nothing to resume from.
    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void)

    /// Something is to be done with a stream task; nothing where it isn't one.
    func add(_ wish: StreamPort.Wish)

    // MARK: What the public object shows

    func state(of task: URLSessionTask) -> URLSessionTask.State
    func progress(of task: URLSessionTask) -> Progress

    // MARK: For the rest of the module

    /// The current request with the task's body, as a protocol class expects it: an upload's body is in no request.
    var requestWithBody: URLRequest? { get }

    /// Whether the delegate is told of the task's response, body and end; false if a handler or a Swift task gets them.
    var tellsDelegateOfResult: Bool { get }

    /// Has the delegate queue ask `question` as the next message about the task.
    func passOn(_ question: @escaping @Sendable () -> Void)

    /// A task of the session's own, which isn't listed.
    var isHidden: Bool { get }

    /// A reader of the body has room for more.
    func consumerCaughtUp()

    /// The public object is gone.
    func released()
}

/// The values of a task's public properties.
struct TaskSnapshot: Sendable {
    var currentRequest: URLRequest?
    var response: TaskResponse?
    /// nil until the task has completed, and if it succeeded.
    var error: (any Error)?
    var counters = TaskCounters()
    /// Where the server lets the task's upload be resumed; nil if it hasn't offered that, or the task hasn't.
    var uploadResource: UploadResource?
    /// Why the task had to wait for its host the last time; nil if it hadn't.
    var failureToConnect: URLError?
}

/// A task's byte counts.
struct TaskCounters: Sendable, Hashable, Codable {
    var received: Int64 = 0
    var sent: Int64 = 0
    /// `NSURLSessionTransferSizeUnknown` if unknown.
    var expectedToReceive: Int64 = 0
    var expectedToSend: Int64 = 0
    /// How many requests the task has made.
    var requests = 0
    /// How often what was received has been given up, and the body has begun anew.
    var restarts = 0

    /// The server has the upload's first bytes, through `offset`; `length` is that of the whole, nil if unknown.
    mutating func noteUploaded(through offset: Int64, of length: Int64?) {
        sent = max(sent, offset)
        expectedToSend = length ?? NSURLSessionTransferSizeUnknown
    }
}

extension TaskCounters {
    /// Throws where another process has counted less than nothing: differences between two of its numbers must not overflow.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> Int64 {
            let count = try container.decode(Int64.self, forKey: key)
            guard count >= 0 else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "negative")
            }
            return count
        }
        received = try count(.received)
        sent = try count(.sent)
        expectedToReceive = try container.decode(Int64.self, forKey: .expectedToReceive)
        expectedToSend = try container.decode(Int64.self, forKey: .expectedToSend)
        requests = Int(try count(.requests))
        restarts = container.contains(.restarts) ? Int(try count(.restarts)) : 0
    }
}

/// The properties of a task that a program sets.
struct TaskSettings: Sendable, Hashable, Codable {
    var description: String?
    var priority = URLSessionTask.defaultPriority
    var earliestBeginDate: Date?
    /// Depends on who gets the result, unless the program has set it.
    var prefersIncrementalDelivery = true
    var expectsToReceive = NSURLSessionTransferSizeUnknown
    var expectsToSend = NSURLSessionTransferSizeUnknown
}
