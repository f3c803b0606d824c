import CurlTransport
import Foundation

/// An HTTP proxy's responses to CONNECT (RFC 9110 §9.3.6).
struct ProxyTunnel {
    private var parser = HeadParser(answersConnect: true)
    /// The latest response. If libcurl authenticates in several rounds, there are several.
    private(set) var head: ResponseHead?
    /// The latest challenge among them.
    private(set) var challenge: ResponseHead?
    private var challengeCount = 0
    /// A nonce may have become stale, and NTLM takes one more round. libcurl would answer any number.
    private static let maximumChallenges = 10
    /// Whether a response isn't an HTTP/1 head, or is too large for one.
    private(set) var isMalformed = false
    /// The latest informational response.
    private var interim: ResponseHead?

    /// What becomes of the tunnel with the latest lines.
    enum Event {
        /// It isn't open yet.
        case incomplete
        /// The proxy agrees.
        case opened(ProxyTunnel)
        /// The transfer has to end: `isMalformed`, or the proxy counts as refusing.
        case failed
    }

    /// Within libcurl, which is kept from answering challenges for ever: after too many, the proxy counts as refusing.
    mutating func receive(lines: UnsafeRawBufferPointer) -> Event {
        switch parser.consume(lines: lines) {
        case .incomplete:
            if let last = parser.informational.last { interim = last }
            parser.informational = []
            return .incomplete
        case .malformed, .unparsable:
            isMalformed = true
            return .failed
        case .complete(let head) where !head.version.hasPrefix("HTTP/1."):
            isMalformed = true
            return .failed
        case .complete(let head):
            self.head = head
            parser = HeadParser(answersConnect: true)
            if (200..<300).contains(head.status) { return .opened(self) }
            guard head.status == 407 else { return .incomplete }
            challenge = head
            challengeCount += 1
            return challengeCount > Self.maximumChallenges ? .failed : .incomplete
        }
    }

    /// Whether libcurl has answered a challenge by itself, and was challenged again.
    var hasRefusedAnswer: Bool { challengeCount > 1 }

    /// The proxy's final response, if it refused. libcurl takes an informational response for that, and waits for no other.
    var refusal: ResponseHead? {
        (head ?? interim).flatMap { (200..<300).contains($0.status) ? nil : $0 }
    }

    /// The same, if that is why the transfer failed: a proxy that stopped in the middle of its response, or never finishes it, hasn't
    /// refused.
    func refusal(before failure: TransferFailure) -> ResponseHead? {
        failure.code == .operationTimedOut || failure.code == .weirdServerReply ? nil : refusal
    }
}

extension URLError {
    static func invalidTunnelResponse(_ url: URL?) -> URLError {
        URLError(.badServerResponse, url: url, "The proxy's answer is not valid or too large.")
    }

    /// The error when a proxy has refused a tunnel to `url`'s host.
    init(_ failure: TransferFailure, url: URL?, refusal head: ResponseHead) {
        self.init(
            head.status == 407 ? .userAuthenticationRequired : .cannotConnectToHost,
            url: url,
            head.status < 200
                ? "The proxy sent an interim response with the status \(head.status), and libcurl waits for no other."
                : "The proxy refuses to connect to the host: it answered with the status \(head.status).",
            details: [
                CurlErrorKey.code: Int(failure.code.rawValue),
                CurlErrorKey.text: failure.text,
                CurlErrorKey.phase: TransferPhase.connecting.rawValue,
                CurlErrorKey.proxyStatus: head.status,
            ]
        )
    }
}
