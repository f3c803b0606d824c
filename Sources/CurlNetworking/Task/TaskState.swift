import CurlTransport
import Foundation

/// The part of a task that any thread may see and change; guarded by its handle's lock. Too large to be copied.
struct TaskState: ~Copyable {
    var machine = TaskStateMachine()
    /// The loop is about to ask for commands: however many wishes come before it does, it is called once.
    var isSubmitted = false
    var consumer: Consumer
    var mailbox = Mailbox()
    var reported = ReportedProgress()
    var outcome: Outcome?
    /// The task's metrics, from its end until its delegate has been told.
    var metrics: TaskMetrics?
    /// The public object, from the first `resume()` to the end: the session keeps the task, so its delegate's messages have one to name.
    var task: URLSessionTask?
    var conversion = Conversion.none
    /// When the delegate last answered what is to be done with a response or a part.
    var lastAnswer: MonotonicTime?
    var delegates = DelegateSet.none
    var currentRequest: URLRequest?
    var response: TaskResponse?
    var counters: TaskCounters
    var uploadResource: UploadResource?
    var failureToConnect: URLError?
    var progress: Progress?
    var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
    var settings = TaskSettings()

    /// What a data task has become by its delegate's answer to a response.
    enum Conversion {
        /// It is the task that it was created as.
        case none
        /// The same; if the delegate allows the response, this sink divides the body into parts. Used on the loop.
        case divisible(DelegateSink)
        /// The data task's public object is obsolete.
        case download
        /// The same. While `isBeingRead`, the task's end waits until the whole response has been read.
        case stream(isBeingRead: Bool)
    }

    init(consumer: Consumer, currentRequest: URLRequest?, counters: TaskCounters = TaskCounters()) {
        self.consumer = consumer
        self.currentRequest = currentRequest
        self.counters = counters
        settings.prefersIncrementalDelivery = consumer.prefersIncrementalDelivery
    }

    // MARK: - Wishes

    /// What follows from a wish of the program's.
    enum WishEffect {
        case none
        /// Whoever does the work must hear of it.
        case change
        /// The same, and from now on the session keeps the task.
        case activation
    }

    /// Notes what the program wants of `task`. `wish` returns whether it changed anything.
    mutating func note(_ wish: (inout TaskState) -> Bool, for task: URLSessionTask) -> WishEffect {
        guard wish(&self) else { return .none }
        guard self.task == nil else { return .change }
        // Suspending a task that was never resumed changes nothing.
        guard machine.wasResumed || machine.cancellation != nil else { return .none }
        self.task = task
        return .activation
    }

    /// Has `handler` called with the resume data of a task that is about to be cancelled. False if there can't be any.
    mutating func add(resumeDataHandler handler: @escaping @Sendable (Data?) -> Void) -> Bool {
        switch machine.stage {
        case .working:
            guard machine.cancellation == nil else { return false }
            resumeDataHandlers.append(handler)
            return true
        case .finished, .completed:
            return false
        }
    }

    // MARK: - What the public object shows

    var snapshot: TaskSnapshot {
        TaskSnapshot(
            currentRequest: currentRequest,
            response: response,
            error: machine.stage == .completed ? outcome?.error?.shown : nil,
            counters: counters,
            uploadResource: uploadResource,
            failureToConnect: failureToConnect
        )
    }

    /// The public object; nil for a task that is completed or cancelled, which the session doesn't list.
    var listedTask: URLSessionTask? { machine.stage != .completed && machine.cancellation == nil ? task : nil }

    // MARK: - Delivery

    /// More is waiting for the delegate or the reader than should be.
    var isConsumerBehind: Bool {
        if case .bytes(let stream) = consumer, stream.isBehind { return true }
        return mailbox.body.isAboveHighMark
    }

    /// Whether the public object `task` has been replaced by a download or stream task.
    func isOver(_ task: URLSessionTask) -> Bool {
        isConverted && task is URLSessionDataTask
    }

    /// Whether the task has become a download or stream task.
    var isConverted: Bool {
        switch conversion {
        case .none, .divisible: false
        case .download, .stream: true
        }
    }

    /// Whether the task's end waits until the whole response has been read.
    var isBeingRead: Bool { if case .stream(isBeingRead: true) = conversion { true } else { false } }

    /// The task's end no longer waits for readers.
    mutating func endReading() {
        if isBeingRead { conversion = .stream(isBeingRead: false) }
    }

    // MARK: - The response and its body

    /// Shows the response, and the counts that it begins with.
    mutating func show(_ accepted: AcceptedResponse) {
        response = accepted.response
        counters.received = accepted.offset
        // A program's own protocol class may announce any length.
        counters.expectedToReceive = max(accepted.expected, NSURLSessionTransferSizeUnknown)
    }

    /// Counts body bytes; returns how many are expected, these included. Must be called before the bytes are handed on, so that their
    /// consumer sees the new counts.
    mutating func count(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        defer { counters.received += Int64(bytes.count) }
        return counters.expectedToReceive - counters.received
    }

    /// Puts body bytes into the mailbox.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) {
        if mailbox.append(bytes, expected: expected) { machine.setBacklogged(true) }
    }

    /// Whether a delegate that was passed to an async call gets the body's bytes as well.
    var wantsCopy: Bool { consumer.isAsync && delegates.data != nil }

    /// Whether a delegate hears of writes to a download's file: a download task's own, and one that was passed to an async call.
    var tellsOfWrites: Bool {
        switch consumer {
        case .delegate, .downloadDelegate: true
        case .file: delegates.download != nil
        case .data, .bytes, .dataHandler, .fileHandler, .webSocket, .stream, .informed: false
        }
    }

    // MARK: - The end

    /// Whether the completion is certain to come soon, and hasn't yet.
    var isEnding: Bool {
        switch machine.stage {
        case .working: machine.cancellation != nil
        case .finished: machine.cancellation != nil || !isBeingRead
        case .completed: false
        }
    }

    /// The transfer is over. nil if it was before; otherwise what was discarded.
    mutating func finish(isSuccess: Bool) -> Mailbox.Discarded? {
        guard machine.finish(isSuccess: isSuccess) else { return nil }
        // The task was cancelled before the loop could look: pending questions get no answer any more.
        return machine.cancellation != nil ? mailbox.discard() : Mailbox.Discarded()
    }

    /// Passes the resume data to those who asked for it.
    mutating func post(resumeData: Data?) {
        for handler in resumeDataHandlers { mailbox.post(.resumeData(resumeData, handler)) }
        resumeDataHandlers = []
    }

    /// The messages of the end, in order; called once in a task's life.
    ///
    /// - Parameter tellsMetrics: Whether there is a delegate that hears of metrics.
    mutating func end(tellsMetrics: Bool) -> [TaskEnd] {
        let metrics = metrics.take().flatMap { tellsMetrics ? TaskEnd.metrics($0) : nil }
        if case .informed = consumer { return [metrics, .over].compactMap { $0 } }
        let (completed, response, unwanted) = complete()
        // Captured streams were the last message about the task.
        if consumer.port?.wasCaptured == true { return [.over] }
        var (download, result) = (TaskEnd?.none, completed)
        if consumer.isDelegate, case .file(let file) = completed {
            // It is open, and goes with its own message: the ends of many tasks may wait for their turn.
            (download, result) = (.downloaded(file), .delivered)
        }
        return [unwanted.map(TaskEnd.unwanted), download, metrics, .result(result, response)].compactMap { $0 }
    }

    /// Who gets the result. A handler goes with what it has captured, since the program may keep the task.
    mutating func takeConsumer() -> Consumer {
        defer { if consumer.isHandler { consumer = .informed } }
        return consumer
    }

    /// The task's own delegate, which has heard everything now; none where it hasn't.
    mutating func takeDelegatesIfDone() -> DelegateSet {
        guard machine.stage == .completed, mailbox.isIdle else { return .none }
        defer { delegates = .none }
        return delegates
    }

    /// The task is over for the public. Returns its result: the cancellation alone, if the owner has cancelled before it could see the
    /// result. The file that there was is to be removed before the owner is told.
    mutating func complete() -> (Outcome, TaskResponse?, unwanted: DownloadedFile?) {
        let wasCancelled = machine.complete()
        var result = outcome ?? .delivered
        var unwanted: DownloadedFile?
        if wasCancelled, result.error == nil {
            if case .file(let file) = result { unwanted = file }
            result = .failure(.cancelled(currentRequest?.url.map(consumer.shown)))
        }
        // What the transfer has brought belongs to the owner now.
        outcome = result.error == nil ? .delivered : result
        return (result, response, unwanted)
    }
}
