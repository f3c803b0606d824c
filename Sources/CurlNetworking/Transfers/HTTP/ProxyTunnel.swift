import CurlTransport
import Foundation

/// An HTTP proxy's responses to CONNECT (RFC 9110 §9.3.6).
struct ProxyTunnel {
    private var parser = HeadParser()
    /// The latest response. If libcurl authenticates in several steps, there are several.
    private(set) var head: ResponseHead?
    /// The latest of them that was a challenge.
    private(set) var challenge: ResponseHead?
    /// The latest informational one.
    private var interim: ResponseHead?

    /// False if this isn't a head.
    mutating func consume(lines: UnsafeRawBufferPointer) -> Bool {
        switch parser.consume(lines: lines) {
        case .incomplete: break
        case .malformed, .unparsable: return false
        case .complete(let head):
            self.head = head
            if head.status == 407 { challenge = head }
            parser = HeadParser()
        }
        if let last = parser.informational.last { interim = last }
        parser.informational = []
        return true
    }

    /// The proxy's final response, if it refused. libcurl takes an informational one for that, and asks no further.
    var refusal: ResponseHead? {
        (head ?? interim).flatMap { (200..<300).contains($0.status) ? nil : $0 }
    }

    /// The same, if that is why the transfer has failed: a proxy that stopped in its answer, or comes to no end with it, hasn't refused.
    func refusal(before failure: TransferFailure) -> ResponseHead? {
        failure.code == .operationTimedOut || failure.code == .weirdServerReply ? nil : refusal
    }
}

extension URLError {
    /// The error when a proxy has refused a tunnel to `url`'s host.
    init(_ failure: TransferFailure, url: URL?, refusal head: ResponseHead) {
        self.init(
            head.status == 407 ? .userAuthenticationRequired : .cannotConnectToHost,
            url,
            head.status < 200
                ? "The proxy sent an interim response with the status \(head.status), and libcurl waits for no other."
                : "The proxy refuses to connect to the host: it answered with the status \(head.status).",
            nil,
            [
                CurlErrorKey.code: Int(failure.code.rawValue),
                CurlErrorKey.text: failure.text,
                CurlErrorKey.phase: TransferPhase.connecting.rawValue,
                CurlErrorKey.proxyStatus: head.status,
            ]
        )
    }
}
