/// The life of one task: its owner's wishes, how far it has got, and what the loop has to do about it.
///
/// A value without side effects. Calls of the public API record wishes, from any thread and in any order; the loop then asks for one
/// `Command` after the other until there is none. So only the latest wish counts, however many came in between, and no order of calls can
/// confuse it.
struct TaskStateMachine: Sendable {
    enum Stage: Sendable, Equatable {
        /// Has no transfer and wants none: not yet resumed, or suspended while it waited.
        case parked
        /// Waits for its preparations, then for its turn at the host.
        case queued
        /// A transfer is running; whether libcurl was told to pause it.
        case loading(isPaused: Bool)
        /// The result is final, and on its way to the owner.
        case finished
        /// The owner has it.
        case completed
    }

    enum Cancellation: Sendable, Equatable {
        case discardingBody
        case keepingPartialFile
    }

    /// What the loop is to do next.
    enum Command: Sendable, Equatable {
        case enterQueue
        case leaveQueue
        case setPaused(Bool)
        case cancel(Cancellation)
    }

    private(set) var stage = Stage.parked
    /// A task is suspended while this is above zero; it is born suspended.
    private(set) var suspensions = 1
    private(set) var cancellation: Cancellation?
    /// More bytes are waiting for the consumer than should be.
    private(set) var isBacklogged = false
    /// A response is held until its step decides; no more of it is read.
    private(set) var isHeld = false
    /// Whether `resume()` ever took effect.
    private(set) var wasResumed = false

    var isSuspended: Bool { suspensions > 0 }

    /// Whether the resource clock runs; nil before the task was first resumed.
    var runsResourceClock: Bool? { wasResumed ? !isSuspended : nil }

    // MARK: - Wishes (any thread). Each returns whether the loop must ask for commands.

    /// Undoes one suspension; does nothing if there is none.
    mutating func resume() -> Bool {
        switch stage {
        case .parked, .queued, .loading:
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
        case .parked, .queued, .loading:
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

    /// The first cancellation counts. After the transfer, it still withholds what the owner hasn't seen.
    mutating func cancel(_ kind: Cancellation) -> Bool {
        switch stage {
        case .parked, .queued, .loading, .finished:
            guard cancellation == nil else { return false }
            cancellation = kind
            return true
        case .completed:
            return false
        }
    }

    /// The consumer has fallen behind, or caught up.
    mutating func setBacklogged(_ isBacklogged: Bool) -> Bool {
        guard self.isBacklogged != isBacklogged else { return false }
        self.isBacklogged = isBacklogged
        switch stage {
        case .loading: return true
        case .parked, .queued, .finished, .completed: return false
        }
    }

    // MARK: - Progress (loop)

    /// A response is held, or has been released.
    mutating func setHeld(_ isHeld: Bool) {
        self.isHeld = isHeld
    }

    /// The next command; the machine takes it as carried out.
    mutating func next() -> Command? {
        switch stage {
        case .parked:
            if let cancellation { return finish(with: cancellation) }
            guard !isSuspended else { return nil }
            stage = .queued
            return .enterQueue
        case .queued:
            if let cancellation { return finish(with: cancellation) }
            guard isSuspended else { return nil }
            stage = .parked
            return .leaveQueue
        case .loading(let isPaused):
            if let cancellation { return finish(with: cancellation) }
            guard isPaused != wantsPause else { return nil }
            stage = .loading(isPaused: wantsPause)
            return .setPaused(wantsPause)
        case .finished, .completed:
            return nil
        }
    }

    private var wantsPause: Bool { isSuspended || isBacklogged || isHeld }

    /// Whether more of the body may go to the consumer.
    var mayDeliver: Bool { !wantsPause && cancellation == nil }

    /// Whether the idle clock runs: not while the transfer is paused, or is to be paused as soon as libcurl can.
    var mayTimeOut: Bool { stage == .loading(isPaused: false) && !wantsPause }

    private mutating func finish(with cancellation: Cancellation) -> Command {
        stage = .finished
        return .cancel(cancellation)
    }

    /// libcurl couldn't change the pause yet; `next()` will ask for it again.
    mutating func pauseFailed() {
        guard case .loading(let isPaused) = stage else { return }
        stage = .loading(isPaused: !isPaused)
    }

    /// The transfer has paused by itself.
    mutating func paused() {
        guard case .loading = stage else { return }
        stage = .loading(isPaused: true)
    }

    /// The task's turn has come: true if a transfer is to start now.
    mutating func admit() -> Bool {
        switch stage {
        case .queued:
            guard cancellation == nil, !isSuspended else {
                // It has given up its place in the queue, and asks for another when it is resumed.
                stage = .parked
                return false
            }
            stage = .loading(isPaused: false)
            return true
        case .parked, .loading, .finished, .completed:
            return false
        }
    }

    /// One transfer is over and another follows, perhaps at another host: a redirect, or another attempt.
    mutating func requeue() {
        switch stage {
        case .loading: stage = .parked
        case .parked, .queued, .finished, .completed: break
        }
    }

    /// The result is final; false if it was already.
    mutating func finish() -> Bool {
        switch stage {
        case .parked, .queued, .loading:
            stage = .finished
            return true
        case .finished, .completed:
            return false
        }
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
        case .parked, .queued, .loading, .finished:
            cancellation != nil ? .canceling : isSuspended ? .suspended : .running
        }
    }
}
