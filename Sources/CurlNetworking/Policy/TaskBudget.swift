import Foundation

/// How often a task goes round again before it fails: whatever a server keeps answering, every task comes to an end.
///
/// Each bound is generous beside what an honest server needs, redirects to other hosts included, and none is ever given back.
struct TaskBudget: Equatable, Sendable {
    /// Redirects that are followed, as the Fetch standard (HTTP-redirect fetch) has it; Apple documents 16.
    static let redirects = 20
    /// Handshakes that stop for a question to the delegate. Each of 21 hosts can bring up two: about its certificate and the client's.
    static let handshakes = 50
    /// Challenges, of servers and proxies together, those that are answered without a question included. Each of 21 hosts, and the
    /// proxy on the way to it, can send one.
    static let challenges = 50
    /// Requests that are sent again since they met a connection that was dead: on a new one, and on one of their own.
    static let replays = 2
    /// Parts (206) that a resumed download is put together from, besides those that `bytesPerPart` allows.
    static let parts = 100
    /// A server may cut a large file into many parts, but not into crumbs: one more part for so many bytes.
    static let bytesPerPart: Int64 = 64 * 1024

    private var handshakeCount = 0
    private var challengeCount = 0
    private var replayCount = 0
    private var partCount: Int64 = 0

    /// A handshake with the host of `url` has stopped for a question.
    mutating func spendHandshake(at url: URL?) throws(URLError) {
        handshakeCount += 1
        guard handshakeCount > Self.handshakes else { return }
        throw URLError(
            .secureConnectionFailed,
            url,
            "After \(Self.handshakes) TLS handshakes the server has still come with another certificate, or another question."
        ).with(phase: .securing)
    }

    /// A challenge has come in answer to a request for `url`.
    mutating func spendChallenge(at url: URL?) throws(URLError) {
        challengeCount += 1
        guard challengeCount > Self.challenges else { return }
        throw URLError(
            .userAuthenticationRequired,
            url,
            "The task has been asked for credentials more than \(Self.challenges) times."
        )
    }

    /// Another part of `url` is about to be asked for, when the download has come to `length` bytes.
    mutating func spendPart(of url: URL?, at length: Int64) throws(URLError) {
        partCount += 1
        guard partCount > Int64(Self.parts).addingClamped(length / Self.bytesPerPart) else { return }
        throw URLError(
            .badServerResponse,
            url,
            "The server sends the file in parts that are too small: \(length) bytes after \(partCount) of them."
        )
    }

    /// False where a request whose connection was dead isn't sent once more.
    mutating func spendReplay() -> Bool {
        guard replayCount < Self.replays else { return false }
        replayCount += 1
        return true
    }
}
