import Foundation

/// Runs one public task: the seam between `URLSessionTask` and the code that transfers its data. Any thread; nothing here blocks.
///
/// `TaskHandle` runs the task on an event loop, `BackgroundEngine` in a background session's agent.
protocol TaskEngine: AnyObject, Sendable {
    /// The task's number, unique in its session.
    var identifier: Int { get }

    var originalRequest: URLRequest? { get }

    /// A consistent snapshot of the public properties.
    var snapshot: TaskSnapshot { get }

    /// The values set by the program.
    var settings: TaskSettings { get }

    /// Changes the values set by the program. `change` must do nothing else.
    func changeSettings(_ change: (inout TaskSettings) -> Void)

    /// The task's own delegate, retained until the task completes.
    var ownDelegate: (any URLSessionTaskDelegate)? { get set }

    // MARK: Intents. `task` is the public object that the program holds.

    func resume(_ task: URLSessionTask)
    func suspend(_ task: URLSessionTask)
    func cancel(_ task: URLSessionTask)

    /// `handler` is called on the delegate queue, with nil if there is nothing to resume from.
    func cancel(_ task: URLSessionTask, byProducingResumeData handler: @escaping @Sendable (Data?) -> Void)

    /// Passes on resume data of a download that continues; nil if there is nothing to resume from.
    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void)

    /// Adds an operation of a stream task; does nothing for other tasks.
    func add(_ operation: StreamPort.Operation)

    // MARK: What the public object shows

    func state(of task: URLSessionTask) -> URLSessionTask.State
    func progress(of task: URLSessionTask) -> Progress

    // MARK: For the rest of the module

    /// The current request as a protocol class expects it: with the task's body, unless a redirect has dropped that. An upload's body isn't
    /// in any other request.
    var requestWithBody: URLRequest? { get }

    /// Whether the delegate is told of the task's response, body and end; false if a handler or a Swift task receives them.
    var tellsDelegateOfResult: Bool { get }

    /// Makes the delegate queue ask `question` as the next message about the task.
    func passOn(_ question: @escaping @Sendable () -> Void)

    /// Whether the task is internal, and so isn't listed.
    var isHidden: Bool { get }

    /// Called when a reader of the body has room for more.
    func consumerCaughtUp()

    /// Called when the public object is released.
    func released()
}

/// What a task's public properties show at one moment, apart from what the program sets: that is in `TaskSettings`.
struct TaskSnapshot: Sendable {
    var currentRequest: URLRequest?
    var response: TaskResponse?
    /// nil before the task has completed, or if it succeeded.
    var error: (any Error)?
    var counters = TaskCounters()
    /// The resource at which the server lets the task's upload be resumed; nil unless both the task and the server have offered this.
    var uploadResource: UploadResource?
    /// The reason the task last had to wait for its host; nil if it never did.
    var failureToConnect: URLError?
}

/// A task's counts of bytes, as its public properties show them, and of its attempts. Agents send them to programs.
struct TaskCounters: Sendable, Hashable, Codable {
    var received: Int64 = 0
    var sent: Int64 = 0
    /// `NSURLSessionTransferSizeUnknown` if unknown.
    var expectedToReceive: Int64 = 0
    var expectedToSend: Int64 = 0
    /// The number of requests that the task has made.
    var requests = 0
    /// The number of times that received bytes were discarded and the body started over.
    var restarts = 0

    /// Notes that the server has the first `offset` bytes of the upload; `length` is that of the whole upload, nil if unknown.
    mutating func noteUploaded(through offset: Int64, of length: Int64?) {
        sent = max(sent, offset)
        expectedToSend = length ?? NSURLSessionTransferSizeUnknown
    }
}

extension TaskCounters {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        received = try container.decodeCount(forKey: .received)
        sent = try container.decodeCount(forKey: .sent)
        expectedToReceive = try container.decode(Int64.self, forKey: .expectedToReceive)
        expectedToSend = try container.decode(Int64.self, forKey: .expectedToSend)
        requests = Int(try container.decodeCount(forKey: .requests))
        restarts = container.contains(.restarts) ? Int(try container.decodeCount(forKey: .restarts)) : 0
    }
}

/// The properties of a task that a program sets.
struct TaskSettings: Sendable, Hashable, Codable {
    var description: String?
    var priority = URLSessionTask.defaultPriority
    var earliestBeginDate: Date?
    /// Depends on the consumer of the result, unless the program has set it.
    var prefersIncrementalDelivery = true
    var expectsToReceive = NSURLSessionTransferSizeUnknown
    var expectsToSend = NSURLSessionTransferSizeUnknown
}
