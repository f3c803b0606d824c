import CurlNetworkingLocks
import CurlTransport
import Foundation

/// A task on an event loop, as seen from any other thread: its owner's intent, its public properties, and its delegate's messages. `Loader`
/// runs it.
///
/// This file contains the intents and the loop's view of the task, `TaskHandle+Delivery.swift` the messages, and `TaskHandle+End.swift` the
/// end.
///
/// `@unchecked Sendable`: `shared` guards the state that any thread may access; the rest never changes, or is accessed only on the loop.
final class TaskHandle: StatefulTaskEngine, StepOwner, @unchecked Sendable {
    // MARK: Never changes

    let identifier: Int
    let session: SessionCore
    let originalRequest: URLRequest?
    let body: TaskBody
    let start: StartingPoint
    let creation = Date()
    /// Whether the task is internal, and so isn't listed.
    let isHidden: Bool
    /// Called once, when the task begins.
    let makeSteps: @Sendable (SessionSettings, Steps.Facts) -> Steps

    // MARK: Any thread

    let shared: Mutex<TaskState>

    // MARK: Written on the task's loop and with the lock held; readable with either

    /// The connection pool, and with it the event loop, that the task is on.
    private(set) var pool: ConnectionPool

    // MARK: Loop only

    private var work = Work.notBegun
    /// A decided conversion of the task that waits for the outcome.
    private var conversion: (() -> Void)?

    private enum Work {
        case notBegun
        case running(Loader)
        case over
    }

    init(
        identifier: Int,
        session: SessionCore,
        request: URLRequest?,
        body: TaskBody.Source = .request,
        startingAt start: StartingPoint = .beginning,
        consumer: Consumer,
        isHidden: Bool = false,
        makeSteps: @escaping @Sendable (SessionSettings, Steps.Facts) -> Steps = { Steps($0, $1) }
    ) {
        let request = request.map(HeaderRules.withoutDoubles)
        self.identifier = identifier
        self.session = session
        pool = session.pools.pool(forTask: request)
        originalRequest = request
        self.body = TaskBody(body, of: request)
        self.start = start
        self.isHidden = isHidden
        self.makeSteps = makeSteps
        let counters = TaskCounters(expectedToSend: self.body.expectedLength)
        shared = Mutex(TaskState(consumer: consumer, currentRequest: request, counters: counters))
        consumer.port?.owner = self
    }

    func withState<Result>(_ body: (inout sending TaskState) -> sending Result) -> sending Result {
        shared.withLock(body)
    }

    // MARK: - Intents

    func cancel(_ task: URLSessionTask) {
        discard(task)
        // Even if there is a transfer to cancel: it may succeed before the loop checks the program's intent.
        if shared.withLock({ $0.isBeingRead }) { submit { self.endReading(.task(.cancelled(self.shownURL))) } }
    }

    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) {
        submit {
            switch self.work {
            case .notBegun: completion(self.start.download?.encoded())
            case .running(let loader):
                guard !loader.isOver, let file = loader.sink as? FileSink else { return completion(nil) }
                file.checkpoint(completion)
            case .over: completion(nil)
            }
        }
    }

    func act(for task: URLSessionTask, _ change: (inout TaskState) -> Bool) {
        let (loop, isFirst) = shared.withLock { shared -> (EventLoop?, Bool) in
            let effect = shared.note(change, for: task)
            return (effect == .none ? nil : loopToSubmitTo(&shared), effect == .activation)
        }
        if isFirst { session.activate(self) }
        loop?.submit(self)
    }

    /// Called when a consumer has caught up: the transfer may continue, unless another hasn't.
    func consumerCaughtUp() {
        shared.withLock { $0.machine.setBacklogged($0.isConsumerBehind) ? loopToSubmitTo(&$0) : nil }?.submit(self)
    }

    /// The loop to submit the task to; nil if it has been submitted already. With the lock held.
    private func loopToSubmitTo(_ shared: inout TaskState) -> EventLoop? {
        guard !shared.isSubmitted else { return nil }
        shared.isSubmitted = true
        return pool.loop
    }

    // MARK: - What the public object shows

    /// A new priority applies at once, even if the task is already waiting for its turn.
    func changeSettings(_ change: (inout TaskSettings) -> Void) {
        let isReviewed = shared.withLock { shared in
            let priority = shared.settings.priority
            change(&shared.settings)
            return shared.settings.priority != priority && shared.machine.stage == .working
        }
        if isReviewed { submit { self.loader?.place.setPriority(self.settings.priority) } }
    }

    var requestWithBody: URLRequest? {
        let (request, isBodyKept) = shared.withLock { ($0.currentRequest, $0.isBodyKept) }
        return isBodyKept ? request.map(body.added) : request
    }

    /// The task's delegate if it has one, else the session's, for each protocol.
    var delegates: DelegateSet {
        let own = ownDelegates
        return session.hasDelegate ? own.over(session.delegates) : own
    }

    /// Whether a delegate, the task's own or the session's, may want messages about the task, whichever consumer gets its result.
    var isWatched: Bool { session.hasTaskDelegate || ownDelegates.task != nil }

    var shownResponse: TaskResponse? { shared.withLock { $0.response } }
    var earliestBeginDate: Date? { settings.earliestBeginDate }
    var isSuspended: Bool { shared.withLock { $0.machine.isSuspended } }
    var isCancelled: Bool { shared.withLock { $0.machine.cancellation != nil } }

    func cancel() {
        if let task { cancel(task) }
    }

    // MARK: - The loop

    /// The loader, on its loop; nil before the task begins and after its end.
    var loader: Loader? {
        if case .running(let loader) = work { loader } else { nil }
    }

    /// Called when the loader's work is done. Loop.
    func endWork() {
        work = .over
    }

    /// Shows `request` as the current one; `isBodyKept` says whether it still has the task's body. The previous one may hold the last
    /// reference to a stream of the program's, whose `deinit` may access the task, so it is released outside the lock. Loop.
    func showRequest(_ request: URLRequest, isBodyKept: Bool) {
        let old = shared.withLock { shared in
            defer { (shared.currentRequest, shared.isBodyKept) = (request, isBodyKept) }
            return shared.currentRequest
        }
        withExtendedLifetime(old) {}
    }

    /// Turns this task into another, or divides its body: now or, if its end is certain, once its outcome is known. In between, an upload's
    /// resume data may still be written. Loop.
    func convert(_ conversion: @escaping () -> Void) {
        guard shared.withLock({ $0.machine.stage == .finished && $0.outcome == nil }) else { return conversion() }
        if self.conversion == nil { self.conversion = conversion }
    }

    /// Called when the outcome is known. Loop.
    func convertIfAsked() {
        conversion.take()?()
    }

    /// Whether a transfer may begin: the task may have been suspended or cancelled since the loop last checked.
    var mayBegin: Bool { shared.withLock { $0.machine.mayBegin } }

    /// Returns the next command for the loop, which is asking now, and whether the resource clock runs.
    func nextCommand(
        _ activity: TaskStateMachine.Activity
    ) -> (TaskStateMachine.Command?, runsResourceClock: Bool?) {
        shared.withLock { shared in
            shared.isSubmitted = false
            return (shared.machine.next(activity), shared.machine.runsResourceClock)
        }
    }

    /// Moves the task to `pool`, whose loop calls `arrived`. Called on the loop that the task leaves.
    func move(to pool: ConnectionPool, arrived: @escaping @Sendable () -> Void) {
        shared.withLock { _ in
            self.pool = pool
            // Within the lock, so that work from threads that find the task there runs after this.
            pool.loop.submit(arrived)
        }
    }
}

extension TaskHandle: LoopWork {
    /// Runs `body` on the loop that the task is on by then. Any thread; never blocks.
    func submit(_ body: @escaping @Sendable () -> Void) {
        guard session.pools.areSeveral else { return pool.loop.submit(body) }
        let loop = shared.withLock { _ in pool.loop }
        loop.submit {
            if self.belongs(to: loop) { body() } else { self.submit(body) }
        }
    }

    /// Called when the state machine may have a command, on a loop that may no longer be the task's.
    func run(on loop: EventLoop) {
        guard belongs(to: loop) else { return shared.withLock { _ in pool.loop }.submit(self) }
        if case .notBegun = work { work = .running(Loader(self)) }
        loader?.run()
    }

    /// Whether the task is on `loop`, the caller's own; if so, it stays there until the caller returns.
    func belongs(to loop: EventLoop) -> Bool {
        !session.pools.areSeveral || shared.withLock { _ in pool.loop === loop }
    }
}
