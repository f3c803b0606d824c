import CurlTransport
import Foundation

/// Whether a failed request may be sent again, because the server has shown no sign of having processed it.
enum ReplayPolicy {
    struct Circumstances {
        /// Whether a line of a response, possibly informational, has arrived at least in part.
        var hasHeard = false
        /// Whether a response's head has arrived.
        var hasHead = false
    }

    /// Whether a request with this method is idempotent (RFC 9110 §9.2.2).
    static func mayBeRepeated(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }

    /// How often libcurl may send a request of its own accord; nil for no limit.
    ///
    /// One that isn't idempotent is resent only once, if libcurl takes a kept connection for dead: over HTTP/2 the server may have dropped
    /// the connection after carrying out the request, and libcurl would send it up to six times.
    ///
    /// - Parameters:
    ///   - isSingle: Whether libcurl must not resend it at all: `ReplayStep` has already had it resent, or it appends to an upload at an
    ///     offset that may have changed.
    ///   - takesSeveral: Whether authentication takes several requests, all of which libcurl counts.
    static func maximumSends(_ method: String, isSingle: Bool, takesSeveral: Bool) -> Int? {
        if mayBeRepeated(method) || takesSeveral { return nil }
        return isSingle ? 1 : 2
    }

    /// Whether the response is a gateway's, or a temporary one of the server: the same request may get another later (RFC 9110
    /// §15.6.3–5).
    static func isTemporary(status: Int) -> Bool {
        [502, 503, 504].contains(status)
    }

    /// Whether the server had closed a kept connection before the request arrived, or closed it without a response, or says that it hasn't
    /// looked at the request. libcurl detects most such cases and resends the request; these are the others.
    static func isLossOfKeptConnection(_ failure: TransferFailure, _ circumstances: Circumstances) -> Bool {
        guard !circumstances.hasHead else { return false }
        if failure.hasUsedUpSends { return true }
        switch failure.code {
        // libcurl tried to resend it, but couldn't rewind the body; or it was kept off the connection that libcurl had chosen.
        case .sendFailRewind:
            return true
        // A chunked body can't be sent on a kept connection to a server that speaks HTTP/1.0, which libcurl notices before it sends
        // anything.
        case .uploadFailed:
            return !circumstances.hasHeard
        case .failedInit:
            return !circumstances.hasHeard && isOnUnfinishedConnection(failure)
        case .sendError:
            return !circumstances.hasHeard && (failure.isOnKeptConnection || needsOwnConnection(failure))
        // The server goes away, and says that it hasn't looked at the request (RFC 9113 §6.8); this can happen on a new connection, too.
        case .http2:
            return !circumstances.hasHeard && [.sending, .receiving].contains(failure.phase)
        // PARTIAL_FILE is how requests without a response yet see the end of an HTTP/2 connection.
        case .partialFile, .gotNothing, .recvError:
            return failure.isOnKeptConnection && !circumstances.hasHeard
        default:
            return false
        }
    }

    /// Whether libcurl (7.88) has lost the response to an upload over HTTP/2: if it arrives before the whole body is sent, and is
    /// read together with the stream's reset (RFC 9113 §8.1), libcurl drops it, and then finds the stream closed. Any other failure with
    /// this code has its own text. A server that has closed the stream with its response may also reset it for what the client still sends
    /// (§5.1).
    static func isLossOfResponse(_ failure: TransferFailure) -> Bool {
        guard failure.code == .http2Stream else { return false }
        return failure.text == failure.code.text || failure.text.hasSuffix(": STREAM_CLOSED (err 5)")
    }

    /// Whether libcurl may have lost the response to an upload because the server cancelled the stream: HAProxy does so after a response
    /// that it gives before it has the whole body. A server can also cancel a stream without a response.
    static func mayBeLossOfResponse(_ failure: TransferFailure, quirks: CurlQuirks = .current) -> Bool {
        quirks.forgetsHTTP2Input && failure.code == .http2Stream && failure.text.hasSuffix(": CANCEL (err 8)")
    }

    /// Whether libcurl (7.88) has lost the whole response to an upload, or may have. If the stream's end is all that it finds when it reads
    /// next, it takes that for the end of an empty response: over HTTP/2, it would report a head that hadn't arrived by itself.
    static func isLossOfWholeResponse(_ failure: TransferFailure, isOverHTTP2: Bool) -> Bool {
        isLossOfResponse(failure) || mayBeLossOfResponse(failure) || isOverHTTP2 && failure.code == .gotNothing
    }

    /// Whether libcurl may have lost the body of a response in the same way, after `head`, to an upload that is incomplete.
    static func isLossOfRest(_ failure: TransferFailure, after head: ResponseHead?) -> Bool {
        guard let head, head.isOfHTTP2 else { return false }
        return isLossOfResponse(failure) || mayBeLossOfResponse(failure) || failure.code == .partialFile
    }

    /// Whether libcurl (8.17 and newer) refused a response because its `Location` isn't the only one: it has several, or an informational
    /// one had another. https://github.com/curl/curl/pull/19134
    static func isRefusalOfLocation(_ failure: TransferFailure) -> Bool {
        failure.code == .weirdServerReply && failure.text == "Multiple Location headers"
    }

    /// Whether a request without a response failed because the server ended the connection, or the TLS handshake, or spoke another
    /// protocol.
    static func isSilence(_ error: URLError?) -> Bool {
        error.map { [.networkConnectionLost, .secureConnectionFailed, .cannotParseResponse].contains($0.code) } ?? false
    }

    /// Whether the failure may be the loss of a connection, whatever part of a response had arrived. For an unreadable response,
    /// libcurl's code is more specific.
    static func mayBeLoss(_ failure: TransferFailure) -> Bool {
        [.sendFailRewind, .sendError, .recvError, .gotNothing, .partialFile, .abortedByCallback].contains(failure.code)
    }

    /// Whether the request needs its own connection. One reason is that libcurl gave up after five attempts: if a server takes few requests
    /// on each HTTP/2 connection, some of many concurrent ones fail every time. Only libcurl's text shows this.
    static func needsOwnConnection(_ failure: TransferFailure) -> Bool {
        failure.code == .sendFailRewind || failure.hasUsedUpSends || failure.text.hasPrefix("Connection died, tried ")
            || failure.code == .uploadFailed || isOnUnfinishedConnection(failure)
    }

    /// Whether libcurl (7.88) let the request share an HTTP/2 connection that wasn't established yet, as it does if it knows that the host
    /// speaks HTTP/2, and then couldn't send it.
    private static func isOnUnfinishedConnection(_ failure: TransferFailure) -> Bool {
        failure.code == .failedInit && failure.text.hasSuffix(" send: no filter connected")
    }
}
