import CurlTransport

/// Whether a failed request may be sent again, because the server has shown no sign of having processed it.
enum ReplayPolicy {
    struct Circumstances {
        /// A line of a response has arrived, possibly informational, or a part of one.
        var hasHeard = false
        /// A response's head has arrived.
        var hasHead = false
    }

    /// Whether it makes no difference if a request with this method is carried out twice (RFC 9110 §9.2.2).
    static func mayBeRepeated(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }

    /// How often libcurl may send a request on its own account; nil for as often as it wants.
    ///
    /// One that may not be carried out twice goes out once more where libcurl takes a kept connection for dead, and that is all: over HTTP/2 the
    /// server may have broken the connection off after it had carried out the request, and libcurl would send it up to six times.
    ///
    /// - Parameters:
    ///   - isSingle: libcurl must not send it again at all: `ReplayStep` has had it sent before, or it appends to an upload at an offset that
    ///     may have changed.
    ///   - takesSeveral: Authentication takes several requests, each of which counts as one to libcurl.
    static func maximumSends(_ method: String, isSingle: Bool, takesSeveral: Bool) -> Int? {
        if mayBeRepeated(method) || takesSeveral { return nil }
        return isSingle ? 1 : 2
    }

    /// Whether a gateway has answered, or a server for the time being: the same request may have its response later (RFC 9110 §15.6.3–5).
    static func isTemporary(status: Int) -> Bool {
        [502, 503, 504].contains(status)
    }

    /// Whether the server had closed a kept connection before the request arrived, or closed it without a response, or says that it hasn't
    /// looked at the request. libcurl notices most such cases and sends the request again; these are the others.
    static func isLossOfKeptConnection(_ failure: TransferFailure, _ circumstances: Circumstances) -> Bool {
        guard !circumstances.hasHead else { return false }
        switch failure.code {
        // libcurl tried to send it again, but couldn't rewind the body; or it wasn't to go out on the connection that libcurl had chosen.
        case .sendFailRewind:
            return true
        // A chunked body can't go out on a kept connection to a server that speaks HTTP/1.0, which libcurl notices before it sends anything.
        case .uploadFailed:
            return !circumstances.hasHeard
        case .failedInit:
            return !circumstances.hasHeard && isOnUnfinishedConnection(failure)
        case .sendError:
            return !circumstances.hasHeard && (failure.isOnKeptConnection || needsOwnConnection(failure))
        // The server goes away, and says that it hasn't looked at the request (RFC 9113 §6.8), on a new connection as well.
        case .http2:
            return !circumstances.hasHeard && [.sending, .receiving].contains(failure.phase)
        // PARTIAL_FILE is how requests without a response yet see the end of an HTTP/2 connection.
        case .partialFile, .gotNothing, .recvError:
            return failure.isOnKeptConnection && !circumstances.hasHeard
        default:
            return false
        }
    }

    /// Whether libcurl (7.88) has lost the answer to an upload over HTTP/2: if a stream is reset behind a response that came before the
    /// whole body (RFC 9113 §8.1) and is read together with that, libcurl drops the response, and then finds the stream closed. For any
    /// other failure with this code it has a text of its own.
    static func isLossOfAnswer(_ failure: TransferFailure) -> Bool {
        failure.code == .http2Stream && failure.text == failure.code.text
    }

    /// Whether it may be how libcurl calls the loss of a connection, whatever had come of an answer. It says more of an answer that it can't
    /// read.
    static func mayBeLoss(_ failure: TransferFailure) -> Bool {
        [.sendFailRewind, .sendError, .recvError, .gotNothing, .partialFile, .abortedByCallback].contains(failure.code)
    }

    /// Whether the request needs a connection of its own. One reason is that libcurl gave up after five attempts of its own: if a server takes
    /// few requests on each HTTP/2 connection, some of many concurrent ones fail every time. Only libcurl's text shows this.
    static func needsOwnConnection(_ failure: TransferFailure) -> Bool {
        failure.code == .sendFailRewind || failure.text.hasPrefix("Connection died, tried ")
            || failure.code == .uploadFailed || isOnUnfinishedConnection(failure)
    }

    /// libcurl (7.88) has let the request share an HTTP/2 connection that wasn't established yet, as it does if it knows that the host speaks
    /// HTTP/2, and then couldn't send it.
    private static func isOnUnfinishedConnection(_ failure: TransferFailure) -> Bool {
        failure.code == .failedInit && failure.text.hasSuffix(" send: no filter connected")
    }
}
