/// Calls that wait for a moment of the first attaching to an agent. A value.
struct AttachWaiters {
    enum Moment {
        /// It is known which tasks there are.
        case attached
        /// The delegate has also been told of those that had already ended.
        case told
    }

    private var waiting: [(moment: Moment, body: @Sendable () -> Void)] = []
    private var isAttached = false

    /// It is known which tasks there are. Returns whether that is news.
    mutating func noteAttached() -> Bool {
        defer { isAttached = true }
        return !isAttached
    }

    mutating func add(_ body: @escaping @Sendable () -> Void, until moment: Moment) {
        waiting.append((moment, body))
    }

    /// - Parameter late: The number of tasks that had already ended and that the delegate has yet to be told of.
    func hasReached(_ moment: Moment, late: Int) -> Bool {
        isAttached && (moment == .attached || late == 0)
    }

    /// Removes and returns the calls whose moment has been reached.
    mutating func takeReady(late: Int) -> [@Sendable () -> Void] {
        let ready = waiting.filter { hasReached($0.moment, late: late) }
        waiting = waiting.filter { !hasReached($0.moment, late: late) }
        return ready.map(\.body)
    }
}
