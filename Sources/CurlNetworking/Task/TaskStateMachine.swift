/// The life of one task: its owner's wishes, whether it is over, and what the loop has to do about it.
///
/// A value without side effects. Calls of the public API record wishes, from any thread and in any order; the loop then says what it is
/// doing, and gets one `Command` after the other until there is none. So only the latest wish counts, however many came in between, and no
/// order of calls can confuse it.
struct TaskStateMachine: Sendable {
    enum Stage: Sendable {
        /// It has no result yet.
        case working
        /// The result is final, and on its way to the owner.
        case finished
        /// The owner has it.
        case completed
    }

    /// What the loop is doing for the task.
    enum Activity: Sendable, Equatable {
        /// There is no transfer yet. `isReady`: nothing has to be waited for. `hasPlace`: the task has a place at a host, or waits for one.
        case preparing(isReady: Bool, hasPlace: Bool)
        /// A transfer is running. `isHeld`: its response is held until a step decides, and no more of it is read.
        case transferring(isPaused: Bool, isHeld: Bool)
        /// The body is complete, and becomes the result.
        case finishing
        /// Something that only a cancellation changes.
        case busy
    }

    enum Cancellation: Sendable, Equatable {
        case discardingBody
        /// The owner has asked for resume data: it gets that, or the result, if the task is faster.
        case keepingPartialFile
        /// The owner has asked for resume data, and has cancelled since: it no longer wants a result.
        case keepingPartialFileAlone

        var keepsPartialFile: Bool { self != .discardingBody }
    }

    /// What the loop is to do next.
    enum Command: Sendable, Equatable {
        /// Continue with what comes before a transfer.
        case advance
        /// Give up the place at the host, or the wait for it.
        case leavePlace
        case setPaused(Bool)
        case cancel(Cancellation)
    }

    private(set) var stage = Stage.working
    /// A task is suspended while this is above zero; it is born suspended.
    private(set) var suspensions = 1
    private(set) var cancellation: Cancellation?
    /// More bytes are waiting for the consumer than should be.
    private(set) var isBacklogged = false
    /// Whether `resume()` ever took effect.
    private(set) var wasResumed = false

    var isSuspended: Bool { suspensions > 0 }

    /// Whether the resource clock runs; nil before the task was first resumed.
    var runsResourceClock: Bool? { wasResumed ? !isSuspended : nil }

    // MARK: - Wishes (any thread). Each returns whether the loop must ask for commands.

    /// Undoes one suspension; does nothing if there is none.
    mutating func resume() -> Bool {
        switch stage {
        case .working:
            guard suspensions > 0, cancellation == nil else { return false }
            suspensions -= 1
            if suspensions == 0 { wasResumed = true }
            return suspensions == 0
        case .finished:
            // Nothing to transfer any more, but `state` shows it.
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

    /// The first cancellation counts, except that a plain one after one for resume data withholds the result. After the transfer, a plain one
    /// still withholds what the owner hasn't seen; there is nothing left to resume.
    mutating func cancel(_ kind: Cancellation) -> Bool {
        switch (stage, cancellation) {
        case (.working, nil): cancellation = kind
        case (.working, .keepingPartialFile) where kind == .discardingBody: cancellation = .keepingPartialFileAlone
        case (.finished, nil) where kind == .discardingBody: cancellation = kind
        case (.working, _), (.finished, _), (.completed, _): return false
        }
        return true
    }

    /// The consumer has fallen behind, or caught up.
    @discardableResult
    mutating func setBacklogged(_ isBacklogged: Bool) -> Bool {
        guard self.isBacklogged != isBacklogged else { return false }
        self.isBacklogged = isBacklogged
        return stage == .working
    }

    // MARK: - Progress (loop)

    /// The next command for a loop whose activity this is. A cancellation counts as carried out once it is returned.
    mutating func next(_ activity: Activity) -> Command? {
        guard stage == .working else { return nil }
        // Nothing is left to resume: the owner gets the success.
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

    /// Whether a transfer may begin now.
    var mayBegin: Bool { stage == .working && !isSuspended && cancellation == nil }

    /// Whether more of the body may go to the consumer.
    var mayDeliver: Bool { !isSuspended && !isBacklogged && cancellation == nil }

    /// The result is final; false if it was already. The owner gets a success even if it has asked for resume data meanwhile: there is nothing
    /// left to resume.
    mutating func finish(isSuccess: Bool = false) -> Bool {
        guard stage == .working else { return false }
        stage = .finished
        if isSuccess, cancellation == .keepingPartialFile { cancellation = nil }
        return true
    }

    /// The owner is about to be told. True if it has cancelled before that, and so gets no success.
    mutating func complete() -> Bool {
        stage = .completed
        return cancellation != nil
    }
}

extension TaskStateMachine {
    /// The state that the public API shows.
    var publicState: URLSessionTask.State {
        switch stage {
        case .completed: .completed
        case .working, .finished:
            cancellation != nil ? .canceling : isSuspended ? .suspended : .running
        }
    }
}
