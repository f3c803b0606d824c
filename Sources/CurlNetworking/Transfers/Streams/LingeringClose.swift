import CurlTransport

/// Decides when to close a connection that this side has closed in both directions. A value without side effects; loop only.
///
/// A connection closed at once is reset if input on it is unread or still arrives, and bytes that the other side hasn't taken yet are lost
/// (RFC 9112 §9.6). So input is read and dropped until the other side ends, too, but no longer than this allows.
struct LingeringClose {
    enum Verdict: Equatable {
        /// Look again after `interval`.
        case wait
        /// The other side has everything, and doesn't end.
        case close
        /// The other side takes nothing more.
        case giveUp
    }

    static let interval = Duration.seconds(1)
    /// How long the other side may acknowledge nothing.
    static let longestSilence = Duration.seconds(30)

    private var unacknowledged: Int
    private var lastProgress: MonotonicTime

    /// - Parameter unacknowledged: How many bytes the other side hasn't acknowledged.
    init(unacknowledged: Int, at now: MonotonicTime) {
        self.unacknowledged = unacknowledged
        lastProgress = now
    }

    mutating func look(unacknowledged count: Int, at now: MonotonicTime) -> Verdict {
        guard count > 0 else { return .close }
        if count < unacknowledged { (unacknowledged, lastProgress) = (count, now) }
        return now - lastProgress < Self.longestSilence ? .wait : .giveUp
    }
}
