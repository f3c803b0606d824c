/// What a server has TLS do that carries nothing. Without a limit it could change keys again and again, which takes time, or ask for ours
/// to be changed and read none of the answers, which takes memory.
struct TLSUpkeep {
    /// What has come since something was received, or went with too little of it, in bytes.
    private var silence = 0
    /// What reading has made TLS say, and the system hasn't taken yet, in bytes.
    private var answers = 0

    /// The most of either. A session ticket has some hundred bytes, a change of keys and its answer 27 each.
    private static let (maximumSilence, maximumAnswers) = (64 * 1024, 4 * 1024)
    /// A record (RFC 8446 §5.2), which padding may fill.
    private static let longestRecord = 16 * 1024 + 256 + 5
    /// A record with a single byte is usually no longer.
    private static let longestPerByte = 96

    /// A read of TLS has returned `received` bytes, taken `consumed` from the wire, and added `answered` to what is to go out. False if it has
    /// returned nothing once too often.
    mutating func note(received: Int, consumed: Int, answered: Int) -> Bool {
        answers += answered
        guard received > 0 else {
            silence += consumed
            return silence <= Self.maximumSilence && answers <= Self.maximumAnswers
        }
        silence = max(0, silence + consumed - max(received * Self.longestPerByte, Self.longestRecord))
        return true
    }

    /// The system has taken everything.
    mutating func noteSent() {
        answers = 0
    }
}
