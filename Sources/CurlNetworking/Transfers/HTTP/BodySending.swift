import CurlTransport
import Foundation

/// The sending of a request's body: how much of it libcurl has taken, and what keeps it from taking more. Loop only.
struct BodySending {
    enum Wait: Equatable {
        /// Neither the server, with a 100, nor libcurl has asked for any of it.
        case unasked
        case none
        /// The delegate wants nothing sent at the moment, and libcurl has been told so since the last `transferSettled()`.
        case refused
        /// The body has nothing to read yet.
        case starved
        /// The same, and the server's response is an error: libcurl has been told to continue, because it may not intend to send more.
        case answered
        /// The same, and the server has closed the connection: the transfer ends when libcurl asks again.
        case lost
    }

    /// nil once it is closed.
    private(set) var body: (any RequestBody)?
    /// Whether there is one, and whether it is non-empty; valid even after it was closed.
    let (hasBody, hasContent): (Bool, Bool)
    /// How far libcurl has got in the body, in bytes.
    private(set) var count: Int64 = 0
    /// The same, with the bytes that were sent in vain and taken again.
    private(set) var totalCount: Int64 = 0
    /// Whether libcurl has received all of it.
    private(set) var isComplete: Bool
    private(set) var wait = Wait.unasked {
        didSet {
            if wait == .unasked { continueWait?.begin() } else { continueWait?.end() }
        }
    }
    /// nil if the request doesn't wait for a 100, or libcurl needs no help with that.
    private var continueWait: ContinueWait?

    init(_ body: (any RequestBody)?) {
        self.body = body
        (hasBody, hasContent) = (body != nil, body != nil && body?.length != 0)
        isComplete = body?.length == 0
    }

    /// Called when libcurl has begun with `request`.
    mutating func began(_ easy: EasyHandle, in multi: Multi, for request: URLRequest) {
        guard awaitsRequest(request) else { return }
        continueWait = ContinueWait(of: easy, in: multi)
        continueWait?.begin()
    }

    /// Whether the body of `request` is sent only when the server asks for it.
    private func awaitsRequest(_ request: URLRequest) -> Bool {
        hasContent && request.value(forHTTPHeaderField: "Expect") != nil
    }

    /// Called when the server asks for the body.
    mutating func asked() {
        if wait == .unasked { wait = .none }
    }

    /// Whether `head` arrived instead of the 100 that the body of `request` waits for, over HTTP/1. The server may still be waiting for the
    /// body, and would take the next request for it (RFC 9110 §10.1.1). After a 417, libcurl has the connection until it is prevented from
    /// sending the request again.
    func isUnsent(by request: URLRequest, after head: ResponseHead) -> Bool {
        head.isOfHTTP1 && wait == .unasked && head.status != 417 && awaitsRequest(request)
    }

    /// Notes that libcurl has taken `length` bytes; 0 at the end of a body.
    mutating func took(_ length: Int) {
        wait = .none
        count += Int64(length)
        totalCount += Int64(length)
        isComplete = length == 0 || count == body?.length
    }

    mutating func starved() {
        if wait != .answered { wait = .starved }
    }

    var isStarved: Bool { wait == .starved || wait == .answered }

    /// Called when the server's response is an error. True if libcurl has to be told to continue: once, as it may ask for more of the body
    /// instead.
    mutating func answered() -> Bool {
        guard wait == .starved else { return false }
        wait = .answered
        return true
    }

    mutating func refused() {
        wait = .refused
    }

    /// True if the delegate has refused more since the last call.
    mutating func takeRefusal() -> Bool {
        guard wait == .refused else { return false }
        wait = .none
        return true
    }

    mutating func lostConnection() {
        wait = .lost
    }

    /// False if the body can't be read again from there.
    mutating func rewind(to offset: Int64) -> Bool {
        guard let body, body.seek(to: offset) else { return false }
        count = offset
        isComplete = body.length == offset
        wait = .unasked
        return true
    }

    mutating func close() {
        continueWait.take()?.end()
        body.take()?.close()
    }
}
