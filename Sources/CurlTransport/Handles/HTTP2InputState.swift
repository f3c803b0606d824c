/// One transfer's part in `HTTP2StalledInput`. Loop only.
struct HTTP2InputState {
    /// nil before the response's head.
    var isMultiplexed: Bool?
    /// Whether the request's body is sent over HTTP/2.
    var isUpload = false
    var hasBegunRequest = false
    /// Whether libcurl ignores the length that the response's head gives.
    var ignoresLength = false
    /// Whether the transfer's rate is limited.
    var isLimited = false
    /// Whether libcurl has been made to read for the upload since it could last have sent the body's end.
    private(set) var wasReadFor = false
    /// How often that happened since the handler last said that nothing follows.
    private var reads = 0
    var bodyEnd = BodyEnd.notReached
    /// Whether libcurl was told that nothing follows the bytes it was given.
    private(set) var saidEnd = false
    /// How many bytes of the body libcurl was given.
    private(set) var givenBytes: Int64 = 0
    private var bytesReceived: Int64 = 0

    /// What libcurl knows of the body's end, where it has to ask for it.
    enum BodyEnd {
        case notReached
        /// Nothing follows, but libcurl was told to wait.
        case waiting
        /// libcurl is to be told when it next asks, unless it has read more by then.
        case allowed(ReadMark)
        case told
    }

    /// Once libcurl has put all of the body into frames, at most the last frame, of up to 16 KiB, still waits for the socket, which takes
    /// it within a few events; but the connection's other uploads may write for hours.
    static let maximumReads = 4

    /// Whether libcurl is to be made to read for the upload once more after it has written.
    var mayBeReadForAgain: Bool { wasReadFor && reads < Self.maximumReads }

    mutating func noteRead() {
        wasReadFor = true
        reads += 1
    }

    mutating func wrote() {
        wasReadFor = false
    }

    /// Called when the handler says that nothing follows. libcurl asks again in each run in which it tries to send the rest of the body, so
    /// this may be the run that sends the end.
    mutating func bodyEnded() {
        (wasReadFor, reads) = (false, 0)
        saidEnd = true
    }

    mutating func gave(_ count: Int) {
        givenBytes += Int64(count)
        saidEnd = false
    }

    /// Lets libcurl read again. Returns whether it has asked for more of the body.
    mutating func endAllowance() -> Bool {
        guard case .allowed = bodyEnd else { return true }
        bodyEnd = .notReached
        return false
    }

    /// Called when the body is sent again from an earlier point.
    mutating func rewound() {
        (wasReadFor, reads) = (false, 0)
        (bodyEnd, givenBytes, saidEnd) = (.notReached, 0, false)
    }

    mutating func hasGrown(to bytesReceived: Int64) -> Bool {
        defer { self.bytesReceived = bytesReceived }
        return bytesReceived != self.bytesReceived
    }
}
