/// The callers whose pings the web socket's server hasn't answered yet, in order. A value.
struct AwaitedPongs<Waiter> {
    private var waiters = Fifo<Waiter>()
    /// The payload of the last ping; earlier ones count down from it.
    private var last: UInt32 = 0

    /// Returns the payload for the waiter's ping.
    mutating func append(_ waiter: Waiter) -> [UInt8] {
        waiters.append(waiter)
        last &+= 1
        return withUnsafeBytes(of: last.bigEndian) { Array($0) }
    }

    /// Removes and returns the callers whose pings a pong with that payload answers: its ping's sender and those before it (RFC 6455
    /// §5.5.3). None if it answers no ping.
    mutating func answered(by payload: [UInt8]) -> [Waiter] {
        guard payload.count == 4 else { return [] }
        let number = payload.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // How many pings were sent after the one that was answered.
        let later = Int(last &- number)
        return later < waiters.count ? remove(waiters.count - later) : []
    }

    mutating func removeAll() -> [Waiter] { remove(waiters.count) }

    private mutating func remove(_ count: Int) -> [Waiter] {
        (0..<count).compactMap { _ in waiters.popFirst() }
    }
}
