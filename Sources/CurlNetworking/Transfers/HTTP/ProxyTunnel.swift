import CurlTransport
import Foundation

/// What an HTTP proxy says about the tunnel that it is asked for (RFC 9110 §9.3.6).
struct ProxyTunnel {
    private var parser = HeadParser()
    /// Its last answer. Where libcurl leads a conversation, there are several.
    private(set) var head: ResponseHead?
    /// The last of them that was a challenge.
    private(set) var challenge: ResponseHead?

    /// False where this is no head.
    mutating func consume(lines: UnsafeRawBufferPointer) -> Bool {
        switch parser.consume(lines: lines) {
        case .incomplete: break
        case .malformed, .unparsable: return false
        case .complete(let head):
            self.head = head
            if head.status == 407 { challenge = head }
            parser = HeadParser()
        }
        parser.informational = []
        return true
    }

    /// The proxy's last word, where it is a no.
    var refusal: ResponseHead? {
        head.flatMap { (200..<300).contains($0.status) ? nil : $0 }
    }
}

extension URLError {
    /// The error for a proxy that has refused a tunnel to `url`'s host.
    init(_ failure: TransferFailure, url: URL?, refusal head: ResponseHead) {
        self.init(
            head.status == 407 ? .userAuthenticationRequired : .cannotConnectToHost,
            url,
            "The proxy refuses to connect to the host: it answered with the status \(head.status).",
            nil,
            [
                CurlErrorKey.code: Int(failure.code.rawValue),
                CurlErrorKey.text: failure.text,
                // There is a way to the proxy, so that waiting for one makes no sense.
                CurlErrorKey.phase: TransferPhase.securing.rawValue,
                CurlErrorKey.proxyStatus: head.status,
            ]
        )
    }
}
