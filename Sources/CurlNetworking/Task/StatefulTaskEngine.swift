import Foundation

/// A task engine whose public side is a `TaskState` under a lock. Everything here is independent of where the task runs. Any thread, unless
/// noted otherwise.
protocol StatefulTaskEngine: TaskEngine, SessionMember, Deliverable {
    var session: SessionCore { get }

    /// Runs `body` with the state while holding its lock.
    func withState<Result>(_ body: (inout sending TaskState) -> sending Result) -> sending Result

    /// Notes a change of intent, which returns whether it changed anything, and passes it on to the code that runs the task.
    func act(for task: URLSessionTask, _ change: (inout TaskState) -> Bool)

    /// Takes the delegate's answer about the response; only the first counts.
    func answer(_ disposition: URLSession.ResponseDisposition)

    /// Called when the program has given the task another delegate of its own.
    func ownDelegateChanged()

    /// Called when the owner is about to receive the task's result. Delegate queue.
    func prepareEnd()

    /// Called when the owner has the task's result, and the session is about to forget the task.
    func acknowledgeEnd()
}

// MARK: - Intents

extension StatefulTaskEngine {
    func resume(_ task: URLSessionTask) {
        changeSuspension(of: task) { $0.resume() }
    }

    func suspend(_ task: URLSessionTask) {
        changeSuspension(of: task) { $0.suspend() }
    }

    private func changeSuspension(of task: URLSessionTask, _ change: (inout TaskStateMachine) -> Bool) {
        var mustSchedule = false
        var webSocket: WebSocketExchange?
        act(for: task) { state in
            let hasEffect = change(&state.machine)
            state.mailbox.setSuspended(state.machine.isSuspended)
            mustSchedule = state.mailbox.claimDelivery()
            webSocket = state.consumer.webSocket
            return hasEffect
        }
        if mustSchedule { scheduleDelivery() }
        webSocket?.suspensionChanged()
    }

    /// Cancels the task, and discards messages that its owner hasn't received.
    func discard(_ task: URLSessionTask) {
        var discarded = Mailbox.Discarded()
        var webSocket: WebSocketExchange?
        act(for: task) { state in
            let isCancelled = state.machine.cancel(.discardingBody)
            webSocket = state.consumer.webSocket
            // Now, before the loop learns of this and can release them.
            if isCancelled || state.machine.stage == .finished { discarded = state.mailbox.discard() }
            return isCancelled
        }
        if discarded.schedules { scheduleDelivery() }
        webSocket?.cancelled()
        // Released outside the lock.
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
            // The program's object is released outside the lock.
            withExtendedLifetime(old) {}
            if old != nil { ownDelegateChanged() }
        }
    }

    func ownDelegateChanged() {}

    func state(of task: URLSessionTask) -> URLSessionTask.State {
        withState { $0.isOver(task) ? .completed : $0.machine.publicState }
    }

    /// Created on first use, since most tasks never need one. It outlives a data task that becomes another task.
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

    /// Whether a delegate may want the task's metrics: its own, or the session's if that isn't known to lack the method. A task may be
    /// given its delegate at any time.
    var isMeasured: Bool { session.measuresTasks || ownDelegates.task != nil }
}

// MARK: - Delivery

extension StatefulTaskEngine {
    /// The task's delivery for the queue; nil once the session has forgotten the task.
    var delivery: DeliveryQueue.Delivery? {
        let watches = session.hasTaskDelegate
        let (task, isForHandler) = withState { state in
            (state.task, state.consumer.isHandler && !watches && state.delegates.task == nil)
        }
        return task.map { DeliveryQueue.Delivery(recipient: self, task: $0, isForHandler: isForHandler) }
    }

    /// Called when the mailbox requires it, off the loop, whose own deliveries wait for the end of its round.
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

    /// Schedules calls, which are made even if the session has forgotten the task.
    func deliverCalls() {
        if let delivery {
            session.deliveryQueue.add([delivery])
        } else {
            session.deliveryQueue.addOperation(deliverCall)
        }
    }

    /// Makes a call that was added after the session had forgotten the task. Delegate queue.
    private func deliverCall() {
        while let message = withState({ $0.mailbox.next() }) {
            guard case .call(_, let body) = message else { continue }
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
    /// Makes the session forget the task.
    func forget() {
        acknowledgeEnd()
        let (task, delegates) = withState { ($0.task.take(), $0.takeDelegatesIfDone()) }
        session.remove(identifier: identifier)
        // These may be the last references, whose release takes locks or runs the program's code.
        withExtendedLifetime((task, delegates)) {}
    }

    func released() {
        session.forgetUnlessActive(identifier: identifier)
    }
}
