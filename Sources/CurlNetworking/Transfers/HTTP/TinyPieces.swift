/// Keeps a body of many tiny pieces from holding up the loop. libcurl reports each chunk (RFC 9112 §7.1) separately, perhaps millions of
/// one byte each before it returns. While it is paused, it gathers those it has read, and then reports them in pieces of up to 16 KiB.
struct TinyPieces {
    private enum Turn {
        case running(count: Int)
        /// No more are taken before the next turn.
        case over
    }

    private var turn = Turn.running(count: 0)

    /// In bytes: a larger piece isn't tiny.
    static let maximumSize = 255
    /// How many tiny pieces are taken in one turn.
    static let maximumCount = 1000

    /// Whether a piece of `size` bytes may be taken in this turn.
    mutating func take(_ size: Int) -> Bool {
        guard case .running(let count) = turn else { return false }
        guard size <= Self.maximumSize else { return true }
        turn = count < Self.maximumCount ? .running(count: count + 1) : .over
        return count < Self.maximumCount
    }

    /// Whether pieces were left for the next turn.
    mutating func endTurn() -> Bool {
        defer { turn = .running(count: 0) }
        if case .over = turn { return true }
        return false
    }
}
