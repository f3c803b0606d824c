import CurlTransport
import Foundation

/// The part of a task that any thread may read and change; guarded by its handle's lock. Too large to be copied.
struct TaskState: ~Copyable {
    var machine = TaskStateMachine()
    /// Whether the loop is about to ask for commands; it is called once, however many changes come before it asks.
    var isSubmitted = false
    var consumer: Consumer
    var mailbox = Mailbox()
    var reported = ReportedProgress()
    var outcome: Outcome?
    /// The task's metrics, from its end until its delegate has received them.
    var metrics: TaskMetrics?
    /// The public object, from the first `resume()` to the end: the session retains the task, so messages to its delegate have one to pass.
    var task: URLSessionTask?
    var conversion = Conversion.none
    /// The time the delegate last answered about a response or a part.
    var lastAnswer: MonotonicTime?
    var delegates = DelegateSet.none
    var currentRequest: URLRequest?
    /// Whether the current request still has the task's body: a redirect may have dropped it.
    var isBodyKept = true
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

    // MARK: - Intents

    enum IntentEffect {
        case none
        /// The code that runs the task must be told.
        case change
        /// The same, and the session must now retain the task.
        case activation
    }

    /// Notes a change of the program's intent about `task`. `change` returns whether it changed anything.
    mutating func note(_ change: (inout TaskState) -> Bool, for task: URLSessionTask) -> IntentEffect {
        guard change(&self) else { return .none }
        guard self.task == nil else { return .change }
        // Suspending a task that was never resumed changes nothing.
        guard machine.wasResumed || machine.cancellation != nil else { return .none }
        self.task = task
        return .activation
    }

    /// Adds a handler for the resume data of a task that is about to be cancelled. False if there can't be any.
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

    /// Whether too much is waiting for the delegate or the reader.
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

    /// Shows the response and its initial counts.
    mutating func show(_ accepted: AcceptedResponse) {
        response = accepted.response
        counters.received = accepted.offset
        // A program's own protocol class may announce any length.
        counters.expectedToReceive = max(accepted.expected, NSURLSessionTransferSizeUnknown)
    }

    /// Counts body bytes, and returns how many are expected, including these. Must be called before the bytes are passed on, so that their
    /// consumer sees the new counts.
    mutating func count(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        defer { counters.received += Int64(bytes.count) }
        return counters.expectedToReceive - counters.received
    }

    /// Puts body bytes into the mailbox.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) {
        if mailbox.append(bytes, expected: expected) { machine.setBacklogged(true) }
    }

    /// Whether a delegate that was passed to an async call also receives the body's bytes.
    var wantsCopy: Bool { consumer.isAsync && delegates.data != nil }

    /// Whether a delegate is told of writes to a download's file: a download task's delegate, or one that was passed to an async call.
    var tellsOfWrites: Bool {
        switch consumer {
        case .delegate, .downloadDelegate: true
        case .file: delegates.download != nil
        case .data, .bytes, .dataHandler, .fileHandler, .webSocket, .stream, .informed: false
        }
    }

    // MARK: - The end

    /// Whether the task is certain to complete soon, but hasn't yet.
    var isEnding: Bool {
        switch machine.stage {
        case .working: machine.cancellation != nil
        case .finished: machine.cancellation != nil || !isBeingRead
        case .completed: false
        }
    }

    /// Notes the end of the transfer. Returns nil if it was over before; otherwise the discarded messages.
    mutating func finish(isSuccess: Bool) -> Mailbox.Discarded? {
        guard machine.finish(isSuccess: isSuccess) else { return nil }
        // The task was cancelled before the loop could check, so pending questions no longer get an answer.
        return machine.cancellation != nil ? mailbox.discard() : Mailbox.Discarded()
    }

    /// Passes the resume data to those who asked for it.
    mutating func post(resumeData: Data?) {
        for handler in resumeDataHandlers { mailbox.post(.resumeData(resumeData, handler)) }
        resumeDataHandlers = []
    }

    /// Returns the messages of the end, in order. Called once per task.
    ///
    /// - Parameter tellsMetrics: Whether there is a delegate to receive metrics.
    mutating func end(tellsMetrics: Bool) -> [TaskEnd] {
        let metrics = metrics.take().flatMap { tellsMetrics ? TaskEnd.metrics($0) : nil }
        if case .informed = consumer { return [metrics, .over].compactMap { $0 } }
        let (completed, response, unwanted) = complete()
        // Captured streams were the last message about the task.
        if consumer.port?.wasCaptured == true { return [.over] }
        var (download, result) = (TaskEnd?.none, completed)
        if consumer.isDelegate, case .file(let file) = completed {
            // The file is open, and goes with its own message, since the ends of many tasks may be waiting.
            (download, result) = (.downloaded(file), .delivered)
        }
        return [unwanted.map(TaskEnd.unwanted), download, metrics, .result(result, response)].compactMap { $0 }
    }

    /// Returns the consumer of the result. A handler is released with its captures, since the program may retain the task.
    mutating func takeConsumer() -> Consumer {
        defer { if consumer.isHandler { consumer = .informed } }
        return consumer
    }

    /// Returns the task's own delegate if it has received all messages; none otherwise.
    mutating func takeDelegatesIfDone() -> DelegateSet {
        guard machine.stage == .completed, mailbox.isIdle else { return .none }
        defer { delegates = .none }
        return delegates
    }

    /// Completes the task for the public API. Returns its result, or only the cancellation if the owner cancelled before it could see the
    /// result; an `unwanted` file must then be removed before the owner is told.
    mutating func complete() -> (Outcome, TaskResponse?, unwanted: DownloadedFile?) {
        let wasCancelled = machine.complete()
        var result = outcome ?? .delivered
        var unwanted: DownloadedFile?
        let isKnown = result.error == nil ? mailbox.hasToldOfClose : consumer.failsInCalls
        if wasCancelled, !isKnown, result.error?.code != .cancelled {
            if case .file(let file) = result { unwanted = file }
            let cancellation = URLError.cancelled(currentRequest?.url.map(consumer.shown))
            // A failure's partial file stays, so its owner must learn of it.
            result = .failure(cancellation.with(resumeDataOf: result.error))
        }
        // The transfer's result now belongs to the owner.
        outcome = result.error == nil ? .delivered : result
        return (result, response, unwanted)
    }
}
