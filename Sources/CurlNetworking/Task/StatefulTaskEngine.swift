import Foundation

/// A task engine whose public side is a `TaskState` under a lock. Everything here is the same whoever does the task's work. Any thread,
/// unless noted otherwise.
protocol StatefulTaskEngine: TaskEngine, SessionMember, Deliverable {
    var session: SessionCore { get }

    /// Runs `body` with the state while holding its lock.
    func withState<Result>(_ body: (inout sending TaskState) -> sending Result) -> sending Result

    /// Notes a wish, which returns whether it changed anything, and passes it on to whoever does the work.
    func act(for task: URLSessionTask, _ wish: (inout TaskState) -> Bool)

    /// The delegate's answer about the response; only the first counts.
    func answer(_ disposition: URLSession.ResponseDisposition)

    /// The program has given the task another delegate of its own.
    func ownDelegateChanged()

    /// The owner is about to have the task's result. Delegate queue.
    func prepareEnd()

    /// The owner has the task's result, and the session is about to forget the task.
    func acknowledgeEnd()
}

// MARK: - Wishes

extension StatefulTaskEngine {
    func resume(_ task: URLSessionTask) {
        act(for: task) { $0.machine.resume() }
    }

    func suspend(_ task: URLSessionTask) {
        act(for: task) { $0.machine.suspend() }
    }

    /// Cancels the task, and drops what its owner hasn't been told yet.
    func discard(_ task: URLSessionTask) {
        var discarded = Mailbox.Discarded()
        act(for: task) { state in
            let isCancelled = state.machine.cancel(.discardingBody)
            // Now, before the loop hears of it and can release them.
            if isCancelled || state.machine.stage == .finished { discarded = state.mailbox.discard() }
            return isCancelled
        }
        if discarded.schedules { scheduleDelivery() }
        // Released without the lock.
        withExtendedLifetime(discarded) {}
    }

    func cancel(_ task: URLSessionTask, byProducingResumeData handler: @escaping @Sendable (Data?) -> Void) {
        guard withState({ $0.add(resumeDataHandler: handler) }) else {
            return session.deliveryQueue.addOperation { handler(nil) }
        }
        act(for: task) { $0.machine.cancel(.keepingPartialFile) }
    }
}

// MARK: - What the public object shows

extension StatefulTaskEngine {
    var snapshot: TaskSnapshot { withState { $0.snapshot } }
    var settings: TaskSettings { withState { $0.settings } }

    var ownDelegate: (any URLSessionTaskDelegate)? {
        get { withState { $0.delegates.task } }
        set {
            let delegates = DelegateSet(newValue)
            let old: DelegateSet? = withState { state in
                // Setting the same delegate again keeps pending questions valid.
                guard state.delegates.base !== delegates.base else { return nil }
                defer { state.delegates = delegates }
                return state.delegates
            }
            // The program's object is released without the lock.
            withExtendedLifetime(old) {}
            if old != nil { ownDelegateChanged() }
        }
    }

    func ownDelegateChanged() {}

    func state(of task: URLSessionTask) -> URLSessionTask.State {
        withState { $0.isOver(task) ? .completed : $0.machine.publicState }
    }

    /// Made on first use: most tasks never need one. It outlives a data task that becomes another.
    func progress(of task: URLSessionTask) -> Progress {
        let current: @Sendable () -> URLSessionTask? = { [weak self, weak task] in self?.task ?? task }
        return withState { $0.makeProgress(for: current) }
    }

    /// Updates the task's `Progress`. Delegate queue.
    func showProgress() {
        let (progress, counts) = withState { ($0.progress, $0.progressCounts) }
        if let progress { TaskProgressChanges.show(counts, on: progress) }
    }

    var tellsDelegateOfResult: Bool { withState { $0.consumer.isDelegate } }
    var task: URLSessionTask? { withState { $0.task } }
    var listedTask: URLSessionTask? { withState { $0.listedTask } }
    var ownDelegates: DelegateSet { withState { $0.delegates } }

    /// Whether a delegate may want the task's metrics: its own, or the session's if that isn't known to lack the method. A task may be given
    /// its delegate at any time.
    var isMeasured: Bool { session.measuresTasks || ownDelegates.task != nil }
}

// MARK: - Delivery

extension StatefulTaskEngine {
    /// For the delivery queue; nil once the session has forgotten the task.
    var delivery: DeliveryQueue.Delivery? {
        let watches = session.hasTaskDelegate
        let (task, isForHandler) = withState { state in
            (state.task, state.consumer.isHandler && !watches && state.delegates.task == nil)
        }
        return task.map { DeliveryQueue.Delivery(recipient: self, task: $0, isForHandler: isForHandler) }
    }

    /// Called when the mailbox requires it. Off the loop, whose deliveries wait for the end of its round.
    func scheduleDelivery() {
        if let delivery { session.deliveryQueue.add([delivery]) }
    }

    /// Changes the state, and has delivered what that has posted.
    func update(_ change: (inout sending TaskState) -> Void) {
        if changesDelivery(change) { scheduleDelivery() }
    }

    /// Changes the state. True if the caller must schedule a delivery.
    func changesDelivery(_ change: (inout sending TaskState) -> Void) -> Bool {
        withState { state in
            change(&state)
            return state.mailbox.claimDelivery()
        }
    }

    func passOn(_ question: @escaping @Sendable () -> Void) {
        if changesDelivery({ $0.mailbox.passOn(question) }) { deliverCalls() }
    }

    /// The same for calls, which are also made when the session has forgotten the task.
    func deliverCalls() {
        if let delivery {
            session.deliveryQueue.add([delivery])
        } else {
            session.deliveryQueue.addOperation(deliverCall)
        }
    }

    /// Makes a call that was added when the session had forgotten the task. Delegate queue.
    private func deliverCall() {
        while let message = withState({ $0.mailbox.next() }) {
            guard case .call(let body) = message else { continue }
            body()
            if withState({ $0.mailbox.delivered() }) { session.deliveryQueue.addOperation(deliverCall) }
            return
        }
    }

    func deliverNext(about task: URLSessionTask) -> Bool {
        TaskReporter(self, scheduledFor: task).deliverNext()
    }
}

// MARK: - The end

extension StatefulTaskEngine {
    /// The session no longer keeps the task.
    func forget() {
        acknowledgeEnd()
        let (task, delegates) = withState { ($0.task.take(), $0.takeDelegatesIfDone()) }
        session.remove(identifier: identifier)
        // Perhaps the last references, whose end takes locks, or is the program's.
        withExtendedLifetime((task, delegates)) {}
    }

    func released() {
        session.forgetUnlessActive(identifier: identifier)
    }
}
