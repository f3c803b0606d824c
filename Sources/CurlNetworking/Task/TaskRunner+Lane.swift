import Curl

// Where a task is at home: on the lane of its current request's origin. Where a redirect leads to an origin of another lane, the whole task
// moves there between two exchanges: so whatever it does, it does on one loop at a time.

extension TaskRunner: LoopWork {
    // MARK: - Any thread

    /// Has `body` run on the task's loop, whichever that is by then. Never blocks.
    func submit(_ body: @escaping @Sendable () -> Void) {
        guard session.lanes.areSeveral else { return lane.loop.submit(body) }
        let loop = shared.withLock { _ in lane.loop }
        loop.submit {
            if self.isAtHome(on: loop) { body() } else { self.submit(body) }
        }
    }

    /// There may be something to do for the state machine. On a loop, which may not be the task's any more.
    func run(on loop: EventLoop) {
        if isAtHome(on: loop) { return runOnLoop() }
        shared.withLock { _ in lane.loop }.submit(self)
    }

    /// Whether the task is at home on `loop`, on which the caller is: then it stays there until the caller returns.
    func isAtHome(on loop: EventLoop) -> Bool {
        !session.lanes.areSeveral || shared.withLock { _ in lane.loop === loop }
    }

    // MARK: - Loop

    /// Has the task move to where its next request goes; it waits in the stage `queued`, without a place at its host. It leaves in a turn of
    /// its own, when nobody is left on the stack who has to do with it.
    func move(to next: SessionLane) {
        loading.nextLane = next
        lane.loop.submit { self.depart() }
    }

    private func depart() {
        guard let next = loading.nextLane.take(), isUnfinished else { return }
        if let deadline = loading.deadline { lane.loop.cancel(deadline) }
        shared.withLock { _ in
            lane = next
            // Within the lock: whoever finds the task there comes behind this.
            next.loop.submit { self.arrive() }
        }
    }

    private func arrive() {
        rearmDeadline()
        proceed()
    }
}
