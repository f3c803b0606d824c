/// Calls that wait for the first attaching to an agent: then it is known which tasks there are. A value.
struct AttachWaiters {
    private var waiting: [@Sendable () -> Void] = []
    private(set) var isAttached = false

    /// It is known which tasks there are. Returns the calls that wait for that; nil if it isn't news.
    mutating func noteAttached() -> [@Sendable () -> Void]? {
        guard !isAttached else { return nil }
        isAttached = true
        defer { waiting = [] }
        return waiting
    }

    mutating func add(_ body: @escaping @Sendable () -> Void) {
        waiting.append(body)
    }
}
