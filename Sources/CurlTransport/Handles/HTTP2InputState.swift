/// One transfer's part in `HTTP2StalledInput`. Loop only.
struct HTTP2InputState {
    /// nil before the response's head.
    var isMultiplexed: Bool?
    /// libcurl has begun to send the request.
    var hasBegunRequest = false
    /// libcurl doesn't look at the length that the response's head gives.
    var ignoresLength = false
    /// It receives or sends no more than so many bytes a second.
    var isLimited = false
    /// libcurl has been made to read for the upload since it could last have sent the body's end.
    private(set) var wasReadFor = false
    /// How often it has been since the handler last said that nothing follows.
    private var reads = 0
    var bodyEnd = BodyEnd.notReached
    /// libcurl was told that nothing follows what it has been given.
    private(set) var saidEnd = false
    /// How much of the body libcurl was given.
    private(set) var givenBytes: Int64 = 0
    private var bytesReceived: Int64 = 0

    /// What libcurl knows of the body's end, where it has to ask for that.
    enum BodyEnd {
        case notReached
        /// Nothing follows, but libcurl was told to wait.
        case waiting
        /// libcurl is to be told when it asks next, unless it has read on.
        case allowed(ReadMark)
        case told
    }

    /// When libcurl has put all of the body into frames, at most the last one, of up to 16 KiB, still waits for the socket, which takes that
    /// within a few events; but the connection's other uploads may write for hours.
    static let maximumReads = 4

    /// libcurl is to be made to read for the upload once more when it has written.
    var mayBeReadForAgain: Bool { wasReadFor && reads < Self.maximumReads }

    /// libcurl is made to read for the upload now.
    mutating func noteRead() {
        wasReadFor = true
        reads += 1
    }

    /// libcurl has been told that it can write.
    mutating func wrote() {
        wasReadFor = false
    }

    /// The handler has said that nothing follows. libcurl asks again in each run in which it tries to send what of the body is still waiting,
    /// so this may be the one in which the end goes out.
    mutating func bodyEnded() {
        (wasReadFor, reads) = (false, 0)
        saidEnd = true
    }

    /// libcurl gets the next bytes of the body.
    mutating func gave(_ count: Int) {
        givenBytes += Int64(count)
        saidEnd = false
    }

    /// From now on libcurl may read again. Whether it has asked for more of the body.
    mutating func endAllowance() -> Bool {
        guard case .allowed = bodyEnd else { return true }
        bodyEnd = .notReached
        return false
    }

    /// The body is sent again from an earlier point.
    mutating func rewound() {
        (wasReadFor, reads) = (false, 0)
        (bodyEnd, givenBytes, saidEnd) = (.notReached, 0, false)
    }

    mutating func hasGrown(to bytesReceived: Int64) -> Bool {
        defer { self.bytesReceived = bytesReceived }
        return bytesReceived != self.bytesReceived
    }
}
