import Foundation

/// One transfer of a session.
///
/// A task starts suspended. All methods may be called from any thread at any time; none blocks. Whatever happens, a task completes exactly
/// once. Source: <https://developer.apple.com/documentation/foundation/urlsessiontask>
open class URLSessionTask: NSObject, NSCopying, ProgressReporting, @unchecked Sendable {
    // @unchecked: the property never changes, and its value synchronises itself.
    private let backing: Backing

    private enum Backing {
        case engine(any TaskEngine)
        /// Created by `init()`, for tests.
        case standIn(SessionlessTask)
    }

    /// The engine that runs the task; nil for a stand-in.
    var engine: (any TaskEngine)? {
        if case .engine(let engine) = backing { engine } else { nil }
    }

    /// The values set on a stand-in; nil for a session's task.
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
        /// The task is being processed by its session, or is waiting for a connection.
        case running
        /// The task has been suspended more often than resumed, or is new.
        case suspended
        /// The task was cancelled, and its end hasn't been reported yet.
        case canceling
        /// The task has ended, and its end has been or is being reported.
        case completed
    }

    /// Creates a stand-in without a session, for tests that override what they need. It keeps the values set on it.
    public override init() {
        backing = .standIn(SessionlessTask())
    }

    init(engine: any TaskEngine) {
        backing = .engine(engine)
    }

    deinit {
        engine?.released()
    }

    /// Returns the task itself: tasks have an identity and can't be copied.
    open override func copy() -> Any { self }

    /// Returns the task itself: tasks have an identity and can't be copied.
    open func copy(with zone: NSZone?) -> Any { self }

    // MARK: - Control

    /// Resumes the task by undoing one suspension; it runs when none is left.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/resume()>
    open func resume() {
        engine?.resume(self)
    }

    /// Suspends the task, which keeps its connection, if any; its time-outs stop meanwhile. Suspensions are counted: each needs its own
    /// `resume()`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/suspend()>
    open func suspend() {
        engine?.suspend(self)
    }

    /// Cancels the task, which ends with `URLError.cancelled` unless another outcome has already been reported.
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

    /// The error with which the task failed; nil before it has completed, or if it succeeded.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/error>
    open var error: (any Error)? { engine?.snapshot.error }

    /// The current state of the task. A data task that has become a download task is completed. Calls on it still reach the download task,
    /// because the program can't know when the change happens.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/state-swift.property>
    open var state: URLSessionTask.State { engine?.state(of: self) ?? .suspended }

    /// The task's own delegate, which is called before the session's and retained until the task completes. Set it before
    /// the task is resumed.
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

    /// An app-defined description of the task.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/taskdescription>
    open var taskDescription: String? {
        get { settings.description }
        set { changeSettings { $0.description = newValue } }
    }

    /// The priority, from 0 to 1. Of the requests waiting for a connection to a host, those with a higher one go first. It can be changed
    /// while the task waits, but has no effect on a running transfer. Any thread.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/priority>
    open var priority: Float {
        get { settings.priority }
        set { changeSettings { $0.priority = newValue } }
    }

    /// The earliest time at which the transfer may begin; nil to begin at once. Set it before the task is resumed.
    ///
    /// At that time, the delegate is asked what to do in `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`. Works in every
    /// session; on Apple's platforms, only in background sessions. The delegate isn't asked about stream tasks, or in background sessions.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/earliestbegindate>
    open var earliestBeginDate: Date? {
        get { settings.earliestBeginDate }
        set { changeSettings { $0.earliestBeginDate = newValue } }
    }

    /// Whether a delegate prefers to receive the body incrementally rather than all at once. The default is false for downloads, for tasks
    /// with completion handlers and for async calls that return the whole body, and true for others. A hint without effect: data is
    /// coalesced while the delegate is busy, within the memory limits in <doc:FlowOfBytes>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/prefersincrementaldelivery>
    open var prefersIncrementalDelivery: Bool {
        get { settings.prefersIncrementalDelivery }
        set { changeSettings { $0.prefersIncrementalDelivery = newValue } }
    }

    final func cancelProducingResumeData(_ completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let engine else { return completionHandler(nil) }
        engine.cancel(self, byProducingResumeData: completionHandler)
    }

    // MARK: - Progress

    /// The task's progress in bytes; cancelling, pausing and resuming it cancels, suspends and resumes the task at once.
    ///
    /// It changes on the session's delegate queue, and must be used there while the task runs; see <doc:FlowOfBytes>. Add it to a parent
    /// before the task is resumed.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/progress>
    open var progress: Progress {
        switch backing {
        case .engine(let engine): engine.progress(of: self)
        case .standIn(let task): task.progress
        }
    }

    /// The number of bytes of the response's body received so far; for a resumed download, in total.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesreceived>
    open var countOfBytesReceived: Int64 { engine?.snapshot.counters.received ?? 0 }

    /// The number of bytes of the request's body sent so far, counted from zero for each request that the task makes, or from the offset of
    /// a resumed upload.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytessent>
    open var countOfBytesSent: Int64 { engine?.snapshot.counters.sent ?? 0 }

    /// The length of the response's body in bytes, or `NSURLSessionTransferSizeUnknown`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesexpectedtoreceive>
    open var countOfBytesExpectedToReceive: Int64 { engine?.snapshot.counters.expectedToReceive ?? 0 }

    /// The length of the request's body in bytes, or `NSURLSessionTransferSizeUnknown`. For data and files, it is known from the start.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesexpectedtosend>
    open var countOfBytesExpectedToSend: Int64 { engine?.snapshot.counters.expectedToSend ?? 0 }

    /// The program's estimate of the number of bytes to be received, for scheduling; no effect on Linux.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesclientexpectstoreceive>
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { settings.expectsToReceive }
        set { changeSettings { $0.expectsToReceive = newValue } }
    }

    /// The program's estimate of the number of bytes to be sent, for scheduling; no effect on Linux.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiontask/countofbytesclientexpectstosend>
    open var countOfBytesClientExpectsToSend: Int64 {
        get { settings.expectsToSend }
        set { changeSettings { $0.expectsToSend = newValue } }
    }

    // MARK: - Priorities

    /// The default priority of a task: 0.5.
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
    /// `completionHandler` is called on the session's delegate queue before the task completes, with nil if the server hasn't offered to
    /// resume the upload. The data is valid in other processes of the same user. It contains the request without credentials, and the
    /// location of the body; see <doc:ResumableUploads>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionuploadtask/cancel(byproducingresumedata:)>
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        cancelProducingResumeData(completionHandler)
    }
}

extension URLSessionUploadTask: _URLSessionAdditions {}

extension _URLSessionAdditions where Self: URLSessionUploadTask {
    /// Cancels the upload and returns its resume data; see ``cancel(byProducingResumeData:)``.
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
    /// `completionHandler` is called on the session's delegate queue before the task completes, with nil if the download can't be resumed;
    /// <doc:Resuming> lists the reasons. The data is valid in other processes of the same user as long as the partial file stays in place.
    /// It contains the request without credentials.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessiondownloadtask/cancel(byproducingresumedata:)>
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        cancelProducingResumeData(completionHandler)
    }
}

extension URLSessionDownloadTask: _URLSessionAdditions {}

extension _URLSessionAdditions where Self: URLSessionDownloadTask {
    /// Cancels the download and returns its resume data; see ``cancel(byProducingResumeData:)``.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in cancel { continuation.resume(returning: $0) } }
    }

    /// Returns resume data for the bytes received so far while the download continues, so that the program can resume it even after being
    /// killed.
    ///
    /// An addition to Apple's API. The data names the partial file, which keeps growing: resuming from it later
    /// (``URLSession/downloadTask(withResumeData:)``) uses everything written by then, so one checkpoint suffices as long as the download
    /// appends to that file. A new one is needed only after the download has started over, when `didWriteData` counts all bytes written as
    /// new. After the download has completed, failed or been cancelled in this process, resuming from the data starts from zero, unless the
    /// partial file was kept as resume data. The file isn't guaranteed to survive a system crash intact.
    ///
    /// Returns nil if the download can't be resumed; <doc:Resuming> lists the reasons. May be called from any thread.
    public func checkpoint() async -> Data? {
        guard let engine else { return nil }
        return await withCheckedContinuation { continuation in
            engine.checkpoint { continuation.resume(returning: $0) }
        }
    }
}
