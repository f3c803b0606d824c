/// The sending of a request's body: how much of it libcurl has taken, and what keeps it from taking more. Loop only.
struct BodySending {
    enum Wait: Equatable {
        case none
        /// The delegate wants nothing sent at the moment, and libcurl has been told so since the last `transferSettled()`.
        case refused
        /// The body has nothing to read yet.
        case starved
        /// The same, and the server's answer is an error: libcurl sends no more.
        case answered
        /// The same, and the server has closed the connection: the transfer ends when libcurl asks again.
        case lost
    }

    /// nil once it is closed.
    private(set) var body: (any RequestBody)?
    /// Whether there is one, and whether it is non-empty; valid even after it was closed.
    let (hasBody, hasContent): (Bool, Bool)
    /// In bytes.
    private(set) var count: Int64 = 0
    /// libcurl has received all of it.
    private(set) var isComplete: Bool
    var wait = Wait.none

    init(_ body: (any RequestBody)?) {
        self.body = body
        (hasBody, hasContent) = (body != nil, body != nil && body?.length != 0)
        isComplete = body?.length == 0
    }

    /// libcurl has taken so many bytes; none at the end of a body.
    mutating func took(_ length: Int) {
        wait = .none
        count += Int64(length)
        isComplete = length == 0 || count == body?.length
    }

    /// False if the body can't be read again from there.
    mutating func rewind(to offset: Int64) -> Bool {
        guard let body, body.seek(to: offset) else { return false }
        count = offset
        isComplete = body.length == offset
        return true
    }

    mutating func close() {
        body.take()?.close()
    }
}
