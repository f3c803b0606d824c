/// Limits the TLS traffic without content that a server may cause. It could change keys again and again, which takes time, or request
/// changes of ours and read none of the answers, which takes memory.
struct TLSUpkeep {
    /// How many bytes have arrived that carried no content, or too little.
    private var silence = 0
    /// How many bytes reading has made TLS send that the system hasn't taken yet.
    private var answers = 0

    /// The most of either. A session ticket takes some hundred bytes, a change of keys and its answer 27 each.
    private static let (maximumSilence, maximumAnswers) = (64 * 1024, 4 * 1024)
    /// A record (RFC 8446 §5.2), which padding may fill.
    private static let longestRecord = 16 * 1024 + 256 + 5
    /// A record with a single byte is usually no longer.
    private static let longestPerByte = 96

    /// Notes that a read of TLS returned `received` bytes, took `consumed` from the wire, and added `answered` to the output. False if
    /// reads have returned nothing once too often.
    mutating func note(received: Int, consumed: Int, answered: Int) -> Bool {
        answers += answered
        guard received > 0 else {
            silence += consumed
            return silence <= Self.maximumSilence && answers <= Self.maximumAnswers
        }
        silence = max(0, silence + consumed - max(received * Self.longestPerByte, Self.longestRecord))
        return true
    }

    /// Called when the system has taken everything.
    mutating func noteSent() {
        answers = 0
    }
}
