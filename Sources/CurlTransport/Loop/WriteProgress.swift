/// Notices a socket that is ready to be written to and isn't, time and again: while an HTTP/2 server grants an upload no window, libcurl 7.88
/// wants to write all the same, and its socket would be ready in every round. A pure value.
struct WriteProgress {
    private var futileInARow = 0

    /// How many events in a row may be futile: libcurl may send what it has read of a body before in several pieces, and asks nobody for
    /// more then.
    static let tolerated = 64

    /// Whether the socket had better not be watched for writing for a moment.
    var mayRest: Bool { futileInARow > Self.tolerated }

    /// Once it may rest, the next futile event is enough, until one isn't futile.
    mutating func note(isFutile: Bool) {
        futileInARow = isFutile ? min(futileInARow + 1, Self.tolerated + 1) : 0
    }
}
