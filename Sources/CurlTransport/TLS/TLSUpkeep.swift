/// What a server has TLS do that carries nothing. Without a limit it could change keys again and again, which takes time, or ask for ours to be changed
/// and read none of the answers, which takes memory.
struct TLSUpkeep {
    /// What has come without being worth its length, and what has gone out because of it, in bytes.
    private var (silence, answers) = (0, 0)

    /// The most of either at once. A session ticket has some hundred bytes, a change of keys and its answer 27 each.
    private static let (mostSilence, mostAnswers) = (64 * 1024, 4 * 1024)
    /// A record with a single byte is at most that long.
    private static let longestPerByte = 96
    /// Of so many bytes, one may be answered.
    private static let bytesPerAnswer = 4096

    /// `received` bytes for the program have come with `consumed` on the wire, and `answered` are to go out. False if that is too much.
    mutating func note(received: Int, consumed: Int, answered: Int) -> Bool {
        silence = max(0, silence + consumed - received * Self.longestPerByte)
        answers = max(0, answers + answered - received / Self.bytesPerAnswer)
        return silence <= Self.mostSilence && answers <= Self.mostAnswers
    }
}
