import Foundation

/// One transfer of a session.
///
/// It starts suspended. Every method may be called from any thread at any time, and none blocks. Whatever happens, it completes exactly
/// once. Source: <https://developer.apple.com/documentation/foundation/urlsessiontask>
open class URLSessionTask: NSObject, NSCopying, ProgressReporting, @unchecked Sendable {
    // @unchecked: the property never changes, and what it holds guards itself.
    private let backing: Backing

    private enum Backing {
        case engine(any TaskEngine)
        /// Made by `init()`, for tests.
        case standIn(SessionlessTask)
    }

    /// The engine that does its work; nil for a stand-in.
    var engine: (any TaskEngine)? {
        if case .engine(let engine) = backing { engine } else { nil }
    }

    /// What is set on a stand-in; nil for a session's task.
    var sessionless: SessionlessTask? {
        if case .standIn(let task) = backing { task } else { nil }
    }

    private var settings: TaskSettings {
        switch backing {
        case .engine(let engine): engine.settings
        case .standIn(let task): task.settings
        }
    }

    private func changeSettings(_ change: (inout TaskSettings) -> Void) {
        switch backing {
        case .engine(let engine): engine.changeSettings(change)
        case .standIn(let task): task.changeSettings(change)
        }
    }

    /// The state of a task. Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/state-swift.enum>
    public enum State: Int, Sendable {
        /// It is being processed by its session, or is waiting for a connection.
        case running
        /// It has been suspended more often than resumed, as it is when created.
        case suspended
        /// It was cancelled, and its owner hasn't been told yet.
        case canceling
        /// It is over, and its owner has been or is being told.
        case completed
    }

    /// A task without a session: a stand-in, for tests that override what they need. It keeps what is set on it.
    public override init() {
        backing = .standIn(SessionlessTask())
    }

    init(engine: any TaskEngine) {
        backing = .engine(engine)
    }

    deinit {
        engine?.released()
    }

    /// The task itself: tasks have an identity and can't be copied.
    open override func copy() -> Any { self }

    /// The task itself: tasks have an identity and can't be copied.
    open func copy(with zone: NSZone?) -> Any { self }

    // MARK: - Control

    /// Undoes one suspension; the task runs when none is left.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/resume()>
    open func resume() {
        engine?.resume(self)
    }

    /// Pauses the task, keeping its connection if it has one; its time-outs stop meanwhile. Suspensions are counted: each needs its own
    /// `resume()`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/suspend()>
    open func suspend() {
        engine?.suspend(self)
    }

    /// Ends the task with `URLError.cancelled`, unless its owner has already been told of another end.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/cancel()>
    open func cancel() {
        engine?.cancel(self)
    }

    // MARK: - Identity

    /// The task's number, unique in its session.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/taskidentifier>
    open var taskIdentifier: Int { engine?.identifier ?? 0 }

    /// The request the task was created with.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/originalrequest>
    open var originalRequest: URLRequest? { engine?.originalRequest }

    /// The request being processed: the original one, or the latest redirect's.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/currentrequest>
    open var currentRequest: URLRequest? { engine?.snapshot.currentRequest }

    /// The response, once its head has arrived.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/response>
    open var response: URLResponse? { engine?.snapshot.response?.object }

    /// Why the task failed; nil until it has completed, and if it succeeded.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/error>
    open var error: (any Error)? { engine?.snapshot.error }

    /// Whether the task runs, is suspended, or is over. A data task that has become a download task is over. Calls on it still reach the
    /// download task, because the program can't know when the change happens.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/state-swift.property>
    open var state: URLSessionTask.State { engine?.state(of: self) ?? .suspended }

    /// The task's own delegate, asked before the session's, and kept until the task is completed. Set it before the task is
    /// resumed.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/delegate>
    open var delegate: (any URLSessionTaskDelegate)? {
        get {
            switch backing {
            case .engine(let engine): engine.ownDelegate
            case .standIn(let task): task.delegate
            }
        }
        set {
            switch backing {
            case .engine(let engine): engine.ownDelegate = newValue
            case .standIn(let task): task.delegate = newValue
            }
        }
    }

    /// The program's own description of the task.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/taskdescription>
    open var taskDescription: String? {
        get { settings.description }
        set { changeSettings { $0.description = newValue } }
    }

    /// From 0 to 1. Of the requests waiting for a connection to a host, those with a higher priority go first. It can be changed while the
    /// task waits, but has no effect on a running transfer. Any thread.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/priority>
    open var priority: Float {
        get { settings.priority }
        set { changeSettings { $0.priority = newValue } }
    }

    /// The earliest time at which the transfer may begin; nil for at once. Set it before the task is resumed.
    ///
    /// At that time the delegate is asked what to do, in `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`. Works in every
    /// session; on Apple's platforms only in background sessions. No delegate is asked about stream tasks, or in background sessions.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/earliestbegindate>
    open var earliestBeginDate: Date? {
        get { settings.earliestBeginDate }
        set { changeSettings { $0.earliestBeginDate = newValue } }
    }

    /// Whether a delegate prefers the body in pieces, as they arrive, to all of it at once. The default is false for downloads, for tasks with
    /// completion handlers and for async calls that return the whole body, and true for others. A hint without effect: pieces are merged while
    /// the delegate is busy, within the memory limits in <doc:FlowOfBytes>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/prefersincrementaldelivery>
    open var prefersIncrementalDelivery: Bool {
        get { settings.prefersIncrementalDelivery }
        set { changeSettings { $0.prefersIncrementalDelivery = newValue } }
    }

    /// Cancels a download or an upload so that it can be resumed.
    final func cancelProducingResumeData(_ completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let engine else { return completionHandler(nil) }
        engine.cancel(self, byProducingResumeData: completionHandler)
    }

    // MARK: - Progress

    /// The task's progress in bytes; cancelling, pausing and resuming it cancels, suspends and resumes the task at once.
    ///
    /// It changes on the session's delegate queue, and must be used there while the task runs: see <doc:FlowOfBytes>. Add it to a parent
    /// before the task is resumed.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/progress>
    open var progress: Progress {
        switch backing {
        case .engine(let engine): engine.progress(of: self)
        case .standIn(let task): task.progress
        }
    }

    /// Bytes of the response's body received so far; for a resumed download, in total.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesreceived>
    open var countOfBytesReceived: Int64 { engine?.snapshot.counters.received ?? 0 }

    /// Bytes of the request's body sent so far, counted from zero for each request that the task makes; when an upload is resumed, from its
    /// offset.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytessent>
    open var countOfBytesSent: Int64 { engine?.snapshot.counters.sent ?? 0 }

    /// The length of the response's body in bytes, or `NSURLSessionTransferSizeUnknown`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesexpectedtoreceive>
    open var countOfBytesExpectedToReceive: Int64 { engine?.snapshot.counters.expectedToReceive ?? 0 }

    /// The length of the request's body in bytes, or `NSURLSessionTransferSizeUnknown`. For data and files it is known from creation on.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesexpectedtosend>
    open var countOfBytesExpectedToSend: Int64 { engine?.snapshot.counters.expectedToSend ?? 0 }

    /// The program's own estimate of the bytes to be received, for scheduling; no effect on Linux.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesclientexpectstoreceive>
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { settings.expectsToReceive }
        set { changeSettings { $0.expectsToReceive = newValue } }
    }

    /// The program's own estimate of the bytes to be sent, for scheduling; no effect on Linux.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesclientexpectstosend>
    open var countOfBytesClientExpectsToSend: Int64 {
        get { settings.expectsToSend }
        set { changeSettings { $0.expectsToSend = newValue } }
    }

    // MARK: - Priorities

    /// The priority of a task for which none is set: 0.5.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/defaultpriority>
    public static let defaultPriority: Float = 0.5
    /// A priority below the default, 0.25: such tasks wait longer for a connection. See ``priority``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/lowpriority>
    public static let lowPriority: Float = 0.25
    /// A priority above the default, 0.75: such tasks get a connection before others. See ``priority``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/highpriority>
    public static let highPriority: Float = 0.75
}

/// A task whose response is delivered as data.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondatatask>
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {
    // @unchecked: this class stores nothing of its own.
}

/// A task that sends a body, and delivers the response as data.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionuploadtask>
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
    // @unchecked: this class stores nothing of its own.

    /// Cancels the upload so that it can be resumed later.
    ///
    /// `completionHandler` is called on the session's delegate queue, before the task completes: with nil if the server hasn't offered to
    /// resume the upload. The data is valid in other processes of the same user. It contains the request without credentials, and says
    /// where the body is; see <doc:ResumableUploads>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionuploadtask/cancel(byproducingresumedata:)>
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        cancelProducingResumeData(completionHandler)
    }

    /// Cancels the upload so that it can be resumed later; see ``cancel(byProducingResumeData:)``.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in cancel { continuation.resume(returning: $0) } }
    }
}

/// A task whose response is written to a file.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessiondownloadtask>
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    // @unchecked: this class stores nothing of its own.

    /// Cancels the download so that it can be resumed later.
    ///
    /// `completionHandler` is called on the session's delegate queue, before the task completes: with nil if the download can't be resumed;
    /// <doc:Resuming> lists the reasons. The data is valid in other processes of the same user, as long as the partial file stays in place. It
    /// contains the request without credentials.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiondownloadtask/cancel(byproducingresumedata:)>
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        cancelProducingResumeData(completionHandler)
    }

    /// Cancels the download so that it can be resumed later; see ``cancel(byProducingResumeData:)``.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in cancel { continuation.resume(returning: $0) } }
    }

    /// Resume data for what has been received so far, while the download continues: for a program that wants to resume even if it is
    /// killed.
    ///
    /// An addition to Apple's interface. The data names the partial file, which keeps growing: resuming from it later
    /// (``URLSession/downloadTask(withResumeData:)``) uses everything written by then, so one checkpoint serves for as long as the download
    /// appends to that file. A new one is needed only once the download has started over: then `didWriteData` counts all that has been written
    /// as new. Once the download has ended in this process, the data is worth no more than its outcome: after it has
    /// completed, failed or been cancelled, resuming from it starts from zero, unless the partial file was kept as resume data. There is no
    /// promise that the file survives a crash of the machine intact.
    ///
    /// nil if the download can't be resumed; <doc:Resuming> lists the reasons. May be called from any thread.
    public func checkpoint() async -> Data? {
        guard let engine else { return nil }
        return await withCheckedContinuation { continuation in
            engine.checkpoint { continuation.resume(returning: $0) }
        }
    }
}
