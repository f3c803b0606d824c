import CurlTransport

/// When to close a connection whose both directions are closed on this side. A value without side effects; loop only.
///
/// Closed at once, a connection is reset if something on it is unread or still arrives, and what the other side hasn't taken yet is lost (RFC
/// 9112 §9.6). So what arrives is read and dropped until the other side ends, too, but no longer than this says.
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
