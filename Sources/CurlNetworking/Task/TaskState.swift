import Foundation

/// What any thread may see and change of a task; its handle's lock guards it.
struct TaskState {
    var machine = TaskStateMachine()
    /// The loop is about to look what the machine wants: however many wishes come before it does, it is called once.
    var isLoopComing = false
    var consumer: Consumer
    var mailbox = Mailbox()
    var outcome: Outcome?
    /// What the task has cost, from its end until its delegate has been told.
    var metrics: TaskMetrics?
    /// The public object, from the first resuming to the end: the session keeps the task, and so its delegate's messages have one to
    /// name.
    var task: URLSessionTask?
    /// The task was created as a data task, whose public object now is over.
    var hasBecomeAnother = false
    /// It has become a stream task, and its end waits until all of the response has been read.
    var isBeingRead = false
    var delegates = DelegateSet.none
    var currentRequest: URLRequest?
    var response: URLResponse?
    var counters = TaskCounters()
    var progress: Progress?
    var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
    var settings = TaskSettings()

    init(consumer: Consumer, currentRequest: URLRequest?) {
        self.consumer = consumer
        self.currentRequest = currentRequest
    }

    /// More waits for the delegate or the reader than should.
    var isConsumerBehind: Bool {
        if case .bytes(let stream) = consumer, stream.isBehind { return true }
        return mailbox.body.isAboveHighMark
    }

    /// Whether the public object `task` has been replaced by a download or stream task.
    func isOver(_ task: URLSessionTask) -> Bool {
        hasBecomeAnother && task is URLSessionDataTask
    }

    // MARK: - The body

    /// Counts body bytes; returns how many are expected from these on. To be called with the bytes, so that whoever gets them finds the
    /// counters moved.
    mutating func count(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        defer { counters.received += Int64(bytes.count) }
        return counters.expectedToReceive - counters.received
    }

    /// Puts body bytes into the mailbox. True when the caller must schedule a delivery.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> Bool {
        let (schedules, isFull) = mailbox.append(bytes, expected: expected)
        if isFull { _ = machine.setBacklogged(true) }
        return schedules
    }

    /// Whether a delegate that was passed to an async call hears of the body's bytes as well.
    var wantsCopy: Bool { consumer.isAsync && delegates.data != nil }

    /// Whether a delegate hears of what is written to a download's file: of its own task's, and one that was passed to an async call.
    var tellsOfWrites: Bool {
        switch consumer {
        case .delegate, .downloadDelegate: true
        case .file: delegates.download != nil
        case .data, .bytes, .dataHandler, .fileHandler, .webSocket, .stream, .informed: false
        }
    }

    // MARK: - Progress

    /// The task's `Progress` is to follow, if somebody has asked for it. True when the caller must schedule a delivery.
    mutating func noteProgress() -> Bool {
        progress != nil && mailbox.postProgress()
    }

    var progressCounts: ProgressCounts {
        let running = ProgressCounts(
            sent: counters.sent,
            of: counters.expectedToSend,
            received: counters.received,
            of: response == nil ? nil : counters.expectedToReceive
        )
        guard machine.stage == .completed else { return running }
        return running.ended(successfully: outcome?.error == nil)
    }

    // MARK: - The end

    /// The task's own delegate, which has heard everything now; none where it hasn't.
    mutating func takeDelegatesIfDone() -> DelegateSet {
        guard machine.stage == .completed, mailbox.isIdle else { return .none }
        defer { delegates = .none }
        return delegates
    }

    /// The task is over for the public. Returns what came out: nothing but the cancellation, where the owner has cancelled before it could
    /// see the result.
    mutating func complete() -> (Result<Outcome, URLError>, URLResponse?) {
        let wasCancelled = machine.complete()
        let outcome = outcome ?? .delivered
        if wasCancelled, outcome.error == nil {
            self.outcome = .failure(.cancelled(currentRequest?.url))
            if case .file(let file) = outcome { file.removeIfStillThere() }
        }
        let result: Result<Outcome, URLError> = (self.outcome?.error).map { .failure($0) } ?? .success(outcome)
        // The result is the owner's now.
        if self.outcome?.error == nil { self.outcome = .delivered }
        return (result, response)
    }
}
