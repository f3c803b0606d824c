import Foundation

/// How often a task may start over before it fails, so that every task ends, whatever the server does.
///
/// Each limit is well above what an honest server needs, including redirects to other hosts. Nothing is ever refunded, and what a server
/// merely claims earns nothing.
struct TaskBudget: Equatable, Sendable {
    /// Redirects, as in the Fetch standard (HTTP-redirect fetch). Apple documents 16.
    static let redirects = 20
    /// Handshakes that stop to ask the delegate. Each of 21 hosts can cause two: for its certificate and for the client's.
    static let handshakes = 50
    /// Challenges by servers and proxies, including those answered without asking. Each of 21 hosts, and the proxy on the way to it, can
    /// send one.
    static let challenges = 50
    /// Requests sent again because their connection was dead: on another connection, then on one of their own.
    static let replays = 2
    /// Parts (206) that a resumed download may consist of: a server may send a large file in many parts, but not in tiny ones.
    static let parts = Allowance(count: 100, bytesForOneMore: 64 * 1024)
    /// How often an upload may be resumed: a large one may be interrupted often, as long as more of it gets sent. With their delays, those
    /// of one without progress take some seconds.
    static let resumptions = Allowance(count: 5, bytesForOneMore: 256 * 1024)
    /// Pieces of which an upload may consist: a server may take a large one in many, but not in tiny ones.
    static let pieces = Allowance(count: 100, bytesForOneMore: 64 * 1024)
    /// For every this many bytes of a request's body, one more byte of informational responses is allowed: they may tell how much of it has
    /// arrived.
    static let bytesPerInformationalByte: Int64 = 128

    /// `count`, and one more for every `bytesForOneMore` bytes that the task has sent or received.
    struct Allowance: Equatable, Sendable {
        let count: Int64
        let bytesForOneMore: Int64

        func covers(_ spent: Int64, at length: Int64) -> Bool {
            spent <= count.addingClamped(length / bytesForOneMore)
        }
    }

    private var handshakeCount = 0
    private var challengeCount = 0
    private var replayCount = 0
    private var partCount: Int64 = 0
    private var resumptionCount: Int64 = 0
    private var pieceCount: Int64 = 0

    /// A handshake with the host of `url` stopped to ask the delegate.
    mutating func spendHandshake(at url: URL?) throws(URLError) {
        handshakeCount += 1
        guard handshakeCount > Self.handshakes else { return }
        throw URLError(
            .secureConnectionFailed,
            url: url,
            "The server kept presenting new certificates or questions: gave up after \(Self.handshakes) TLS handshakes."
        ).with(phase: .securing)
    }

    /// The response to a request for `url` was a challenge.
    mutating func spendChallenge(at url: URL?) throws(URLError) {
        challengeCount += 1
        guard challengeCount > Self.challenges else { return }
        throw URLError(
            .userAuthenticationRequired,
            url: url,
            "The task has been asked for credentials more than \(Self.challenges) times."
        )
    }

    /// Another part of `url` is about to be requested; the download has `length` bytes so far.
    mutating func spendPart(of url: URL?, at length: Int64) throws(URLError) {
        partCount += 1
        guard !Self.parts.covers(partCount, at: length) else { return }
        throw URLError(
            .badServerResponse,
            url: url,
            "The server sends the file in parts that are too small: \(length) bytes after \(partCount) of them."
        )
    }

    /// An upload to `url` is about to be resumed, or started over; the task has sent `length` bytes of it, none counted twice.
    mutating func spendResumption(of url: URL?, at length: Int64) throws(URLError) {
        resumptionCount += 1
        guard !Self.resumptions.covers(resumptionCount, at: length) else { return }
        throw URLError(
            .networkConnectionLost,
            url: url,
            "The upload was interrupted too often: \(resumptionCount) times, while \(length) bytes of it were sent."
        )
    }

    /// Another piece of an upload is about to be sent to `url`; the task has sent `length` bytes of it, none counted twice.
    mutating func spendPiece(of url: URL?, at length: Int64) throws(URLError) {
        pieceCount += 1
        guard !Self.pieces.covers(pieceCount, at: length) else { return }
        throw URLError(
            .badServerResponse,
            url: url,
            "The server takes the upload in pieces that are too small: \(length) bytes after \(pieceCount) of them."
        )
    }

    /// Whether a request whose connection was dead may be sent again.
    mutating func spendReplay() -> Bool {
        guard replayCount < Self.replays else { return false }
        replayCount += 1
        return true
    }
}
