import Foundation

/// The part of a task that any thread may see and change; guarded by its handle's lock.
struct TaskState {
    var machine = TaskStateMachine()
    /// The loop is about to ask for commands: however many wishes come before it does, it is called once.
    var isLoopComing = false
    var consumer: Consumer
    var mailbox = Mailbox()
    var outcome: Outcome?
    /// The task's metrics, from its end until its delegate has been told.
    var metrics: TaskMetrics?
    /// The public object, from the first `resume()` to the end: the session keeps the task, so its delegate's messages have one to name.
    var task: URLSessionTask?
    /// The task was created as a data task, whose public object is now obsolete.
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

    /// More is waiting for the delegate or the reader than should be.
    var isConsumerBehind: Bool {
        if case .bytes(let stream) = consumer, stream.isBehind { return true }
        return mailbox.body.isAboveHighMark
    }

    /// Whether the public object `task` has been replaced by a download or stream task.
    func isOver(_ task: URLSessionTask) -> Bool {
        hasBecomeAnother && task is URLSessionDataTask
    }

    // MARK: - The body

    /// Counts body bytes; returns how many are expected, these included. Must be called before the bytes are handed on, so that their
    /// consumer sees the new counts.
    mutating func count(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        defer { counters.received += Int64(bytes.count) }
        return counters.expectedToReceive - counters.received
    }

    /// Puts body bytes into the mailbox. True if the caller must schedule a delivery.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> Bool {
        let (schedules, isFull) = mailbox.append(bytes, expected: expected)
        if isFull { _ = machine.setBacklogged(true) }
        return schedules
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

    // MARK: - Progress

    /// Schedules an update of the task's `Progress`, if the program has asked for one. True if the caller must schedule a delivery.
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

    /// The task is over for the public. Returns its result: the cancellation alone, if the owner has cancelled before it could see the
    /// result.
    mutating func complete() -> (Result<Outcome, URLError>, URLResponse?) {
        let wasCancelled = machine.complete()
        let outcome = outcome ?? .delivered
        if wasCancelled, outcome.error == nil {
            self.outcome = .failure(.cancelled(currentRequest?.url))
            if case .file(let file) = outcome { file.removeIfStillThere() }
        }
        let result: Result<Outcome, URLError> = (self.outcome?.error).map { .failure($0) } ?? .success(outcome)
        // The result now belongs to the owner.
        if self.outcome?.error == nil { self.outcome = .delivered }
        return (result, response)
    }
}
