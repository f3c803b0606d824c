/// Detects a socket that is repeatedly ready for writing but isn't written to: while an HTTP/2 server grants an upload no flow-control
/// window, libcurl 7.88 still wants to write, and its socket would be ready in every round. A pure value.
struct WriteProgress {
    private var futileInARow = 0

    /// How many events in a row may be futile: libcurl may send body bytes that it read earlier in several pieces, without asking for more.
    static let tolerated = 64

    /// Whether the socket should briefly not be watched for writing.
    var mayRest: Bool { futileInARow > Self.tolerated }

    /// Once the socket may rest, one more futile event is enough, until one isn't futile.
    mutating func note(isFutile: Bool) {
        futileInARow = isFutile ? min(futileInARow + 1, Self.tolerated + 1) : 0
    }
}
