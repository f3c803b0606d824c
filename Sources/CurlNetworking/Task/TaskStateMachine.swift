/// The life cycle of one task: its owner's intent, whether it is over, and the commands for the loop.
///
/// A value without side effects. Calls to the public API record intents, from any thread and in any order; the loop then states its
/// activity, and gets one `Command` after another until there is none. So only the latest intent counts, however many there were in
/// between, and no order of calls can confuse the machine.
struct TaskStateMachine: Sendable {
    enum Stage: Sendable {
        /// The task has no result yet.
        case working
        /// The result is final, and on its way to the owner.
        case finished
        /// The owner has the result.
        case completed
    }

    /// The loop's activity for the task.
    enum Activity: Sendable, Equatable {
        /// There is no transfer yet. `isReady`: there is nothing to wait for. `hasPlace`: the task has a place at a host, or waits for one.
        case preparing(isReady: Bool, hasPlace: Bool)
        /// A transfer is running. `isHeld`: its response is held until a step decides, and no more of it is read.
        case transferring(isPaused: Bool, isHeld: Bool)
        /// The body is complete, and becomes the result.
        case finishing
        /// An activity that only a cancellation changes.
        case busy
    }

    enum Cancellation: Sendable, Equatable {
        case discardingBody
        /// The owner asked for resume data: it gets that or, if the task is faster, the result.
        case keepingPartialFile
        /// The owner asked for resume data, and has since cancelled the task: it no longer wants a result.
        case keepingPartialFileAlone

        var keepsPartialFile: Bool { self != .discardingBody }
    }

    enum Command: Sendable, Equatable {
        /// Continue with the preparations for a transfer.
        case advance
        /// Give up the place at the host, or the wait for one.
        case leavePlace
        case setPaused(Bool)
        case cancel(Cancellation)
    }

    private(set) var stage = Stage.working
    /// The task is suspended while this is above zero, as it is on creation.
    private(set) var suspensions = 1
    private(set) var cancellation: Cancellation?
    /// Whether too many bytes are waiting for the consumer.
    private(set) var isBacklogged = false
    /// Whether `resume()` ever took effect.
    private(set) var wasResumed = false

    var isSuspended: Bool { suspensions > 0 }

    /// Whether the resource clock runs; nil before the task was first resumed.
    var runsResourceClock: Bool? { wasResumed ? !isSuspended : nil }

    // MARK: - Intents (any thread). Each returns whether the loop must ask for commands.

    /// Undoes one suspension; does nothing if there is none.
    mutating func resume() -> Bool {
        switch stage {
        case .working:
            guard suspensions > 0, cancellation == nil else { return false }
            suspensions -= 1
            if suspensions == 0 { wasResumed = true }
            return suspensions == 0
        case .finished:
            // There is nothing left to transfer, but the delegate gets the rest of the body.
            suspensions = max(0, suspensions - 1)
            return false
        case .completed:
            return false
        }
    }

    mutating func suspend() -> Bool {
        switch stage {
        case .working:
            guard cancellation == nil else { return false }
            suspensions += 1
            return suspensions == 1
        case .finished:
            suspensions += 1
            return false
        case .completed:
            return false
        }
    }

    /// Only the first cancellation counts, except that a plain one after one for resume data withholds the result. After the transfer, a
    /// plain one still withholds everything that the owner hasn't seen; there is nothing left to resume.
    mutating func cancel(_ kind: Cancellation) -> Bool {
        switch (stage, cancellation) {
        case (.working, nil): cancellation = kind
        case (.working, .keepingPartialFile) where kind == .discardingBody: cancellation = .keepingPartialFileAlone
        case (.finished, nil) where kind == .discardingBody: cancellation = kind
        case (.working, _), (.finished, _), (.completed, _): return false
        }
        return true
    }

    /// Notes that the consumer has fallen behind or caught up.
    @discardableResult
    mutating func setBacklogged(_ isBacklogged: Bool) -> Bool {
        guard self.isBacklogged != isBacklogged else { return false }
        self.isBacklogged = isBacklogged
        return stage == .working
    }

    // MARK: - Progress (loop)

    /// Returns the next command for a loop with this activity. A cancellation counts as carried out once it is returned.
    mutating func next(_ activity: Activity) -> Command? {
        guard stage == .working else { return nil }
        // There is nothing left to resume, so the owner gets the success.
        if activity == .finishing, cancellation == .keepingPartialFile { return nil }
        if let cancellation {
            stage = .finished
            return .cancel(activity == .finishing ? .discardingBody : cancellation)
        }
        switch activity {
        case .preparing(let isReady, let hasPlace):
            if isSuspended { return hasPlace ? .leavePlace : nil }
            return isReady ? .advance : nil
        case .transferring(let isPaused, let isHeld):
            let wantsPause = isHeld || !mayDeliver
            return isPaused == wantsPause ? nil : .setPaused(wantsPause)
        case .finishing, .busy:
            return nil
        }
    }

    var mayBegin: Bool { stage == .working && !isSuspended && cancellation == nil }

    /// Whether more of the body may go to the consumer.
    var mayDeliver: Bool { !isSuspended && !isBacklogged && cancellation == nil }

    /// Makes the result final; false if it already was. The owner gets a success even if it has asked for resume data meanwhile, since
    /// there is nothing left to resume.
    mutating func finish(isSuccess: Bool = false) -> Bool {
        guard stage == .working else { return false }
        stage = .finished
        if isSuccess, cancellation == .keepingPartialFile { cancellation = nil }
        return true
    }

    /// Called when the owner is about to be told. True if it has cancelled the task before, and so gets no success.
    mutating func complete() -> Bool {
        stage = .completed
        return cancellation != nil
    }
}

extension TaskStateMachine {
    var publicState: URLSessionTask.State {
        switch stage {
        case .completed: .completed
        case .working, .finished:
            cancellation != nil ? .canceling : isSuspended ? .suspended : .running
        }
    }
}
