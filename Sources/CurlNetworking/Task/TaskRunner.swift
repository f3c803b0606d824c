import Curl
import Foundation
import Locks

/// The brain of one task: what the public object asks of it, and what the loop does for it.
///
/// This file holds what may be called from any thread; `TaskRunner+Loading.swift` holds the loop's side,
/// `TaskRunner+Delivery.swift` the road to the delegate and handler.
///
/// `@unchecked Sendable`: `shared` guards what any thread may touch; the rest never changes, or is the loop's alone.
final class TaskRunner: @unchecked Sendable {
    /// Where the bytes of a request's body come from.
    enum BodySource: Sendable {
        /// From the request itself, if it has any.
        case request
        case data(Data)
        case file(URL)
        /// From the request's stream, or one that the delegate is asked for.
        case stream
    }

    /// Where the bytes of the response's body go.
    enum Destination: Sendable {
        case memory
        case file
        /// To the delegate or reader as they come.
        case stream
    }

    // MARK: Never changes

    let identifier: Int
    let session: SessionCore
    let originalRequest: URLRequest?
    let bodySource: BodySource
    /// What a resuming download goes on from; a failure where the caller's data was no good.
    let resumption: Result<ResumeData, URLError>?
    let creation = Date()
    /// A task of the session's own, which no list shows.
    let isHidden: Bool

    // MARK: Any thread

    let shared: Mutex<Shared>

    struct Shared {
        var machine = TaskStateMachine()
        /// The loop is about to look what the machine wants: however many wishes come before it does, it is called once.
        var isLoopComing = false
        var consumer: Consumer
        var mailbox = Mailbox()
        var outcome: Outcome?
        /// What the task has cost, from its end until its delegate has been told.
        var metrics: TaskMetrics?
        /// The public object, from the first resuming to the end: the session keeps the task, and so its delegate's
        /// messages have one to name.
        var task: URLSessionTask?
        /// The task was created as a data task, whose public object now is over.
        var hasBecomeDownload = false
        var delegates = DelegateSet.none
        var currentRequest: URLRequest?
        var response: URLResponse?
        var counters = Counters()
        var progress: Progress?
        var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
        var description: String?
        var priority = URLSessionTask.defaultPriority
        var earliestBeginDate: Date?
        var prefersIncrementalDelivery = true
    }

    struct Counters {
        var received: Int64 = 0
        var sent: Int64 = 0
        var expectedToReceive: Int64 = 0
        var expectedToSend: Int64 = 0
        var clientExpectsToReceive = NSURLSessionTransferSizeUnknown
        var clientExpectsToSend = NSURLSessionTransferSizeUnknown
        /// How many requests the task has made.
        var requests = 0
    }

    // MARK: Loop only, and under `shared`'s lock

    /// Where the task is at home: what is said to be on the loop is on this one's. It moves only there and with the lock held: so there
    /// it can be read, and anywhere with the lock.
    @exclusivity(unchecked) var lane: SessionLane

    // MARK: Loop only (and touched too often for a run-time check each time)

    @exclusivity(unchecked) var loading: Loading

    init(
        identifier: Int,
        session: SessionCore,
        request: URLRequest?,
        body: BodySource = .request,
        resumption: Result<ResumeData, URLError>? = nil,
        destination: Destination,
        consumer: Consumer,
        isHidden: Bool = false
    ) {
        self.identifier = identifier
        self.session = session
        lane = session.lanes.lane(forTask: request)
        originalRequest = request
        bodySource = body
        self.resumption = resumption
        self.isHidden = isHidden
        loading = Loading(destination: destination)
        shared = Mutex(Shared(consumer: consumer, currentRequest: request))
        let expected = body.expectedLength(in: request)
        if expected != 0 { shared.withLock { $0.counters.expectedToSend = expected } }
    }

    var task: URLSessionTask? { shared.withLock { $0.task } }

    /// The task, where the session's list is to have it.
    var listedTask: URLSessionTask? {
        shared.withLock { $0.machine.stage != .completed && $0.machine.cancellation == nil ? $0.task : nil }
    }

    /// The task's delegate where it has one, else the session's, for each protocol.
    var delegates: DelegateSet {
        let own = shared.withLock { $0.delegates }
        return own.session == nil ? session.delegates : own.over(session.delegates)
    }

    // MARK: - Wishes

    func resume(_ task: URLSessionTask) {
        act(for: task) { $0.machine.resume() }
    }

    func suspend(_ task: URLSessionTask) {
        act(for: task) { $0.machine.suspend() }
    }

    func cancel(_ task: URLSessionTask) {
        act(for: task) { $0.machine.cancel(.discardingBody) }
        // After the transfer there is nothing to stop, only things that need not be delivered.
        let schedules = shared.withLock { shared in
            shared.machine.stage == .finished && shared.mailbox.discard()
        }
        if schedules { scheduleDelivery() }
    }

    /// `handler` is called on the delegate queue; with nil where there is nothing to resume from.
    func cancel(_ task: URLSessionTask, byProducingResumeData handler: @escaping @Sendable (Data?) -> Void) {
        let isTooLate = shared.withLock { shared in
            switch shared.machine.stage {
            case .parked, .queued, .loading:
                guard shared.machine.cancellation == nil else { return true }
                shared.resumeDataHandlers.append(handler)
                return false
            case .finished, .completed:
                return true
            }
        }
        if isTooLate { return session.deliveryQueue.addOperation { handler(nil) } }
        act(for: task) { $0.machine.cancel(.keepingPartialFile) }
    }

    private func act(for task: URLSessionTask, _ wish: (inout Shared) -> Bool) {
        let (loop, isFirst) = shared.withLock { shared -> (EventLoop?, Bool) in
            guard wish(&shared) else { return (nil, false) }
            // Suspending a task that was never resumed changes nothing.
            guard shared.task == nil, shared.machine.wasResumed || shared.machine.cancellation != nil else {
                return (shared.task == nil ? nil : callLoop(&shared), false)
            }
            shared.task = task
            return (callLoop(&shared), true)
        }
        if isFirst { session.activate(self) }
        loop?.submit(self)
    }

    /// Counts from now on, also where the task waits for its turn already.
    func setPriority(_ priority: Float) {
        let isWaiting = shared.withLock { shared in
            shared.priority = priority
            return shared.machine.stage == .queued
        }
        if isWaiting { submit { self.reviewPriority() } }
    }

    /// A consumer has caught up: the transfer may go on, unless there is another one that hasn't.
    func consumerCaughtUp() {
        shared.withLock { $0.machine.setBacklogged($0.isConsumerBehind) ? callLoop(&$0) : nil }?.submit(self)
    }

    /// Whom the runner is to be submitted to; nil where it has been already. With the lock held.
    private func callLoop(_ shared: inout Shared) -> EventLoop? {
        guard !shared.isLoopComing else { return nil }
        shared.isLoopComing = true
        return lane.loop
    }

    // MARK: - What the public object shows

    func state(of task: URLSessionTask) -> URLSessionTask.State {
        shared.withLock { $0.isOver(task) ? .completed : $0.machine.publicState }
    }

    /// nil until the task has completed.
    var error: (any Error)? { shared.withLock { $0.machine.stage == .completed ? $0.outcome?.error?.shown : nil } }
}

extension TaskRunner.Shared {
    fileprivate var isConsumerBehind: Bool {
        if case .bytes(let stream) = consumer, stream.isBehind { return true }
        return mailbox.body.isAboveHighMark
    }

    /// Whether a delegate that was passed to an async call hears of the body's bytes as well.
    var copiesBody: Bool { consumer.isAsync && delegates.data != nil }

    /// Whether the public object `task` has been replaced by a download task.
    func isOver(_ task: URLSessionTask) -> Bool {
        hasBecomeDownload && !(task is URLSessionDownloadTask)
    }

    /// What the loop, which is there now, is to do next.
    mutating func nextCommand() -> TaskStateMachine.Command? {
        isLoopComing = false
        return machine.next()
    }
}
