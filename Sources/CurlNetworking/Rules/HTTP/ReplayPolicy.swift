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

    /// How often libcurl may send a request that may not be repeated: once more where it takes a kept connection for dead. Over HTTP/2 that may be one
    /// that the server has broken off after it has carried out the request, and libcurl would send it up to six times.
    static let mostSends = 2

    /// Whether the server had closed a kept connection before the request arrived, or closed it without a response, or says that it hasn't
    /// looked at the request. libcurl notices most such cases and sends the request again; these are the others.
    static func isLossOfKeptConnection(_ failure: TransferFailure, _ circumstances: Circumstances) -> Bool {
        guard !circumstances.hasHead else { return false }
        switch failure.code {
        // libcurl tried to send it again, but couldn't rewind the body; or it wasn't to go out on the connection that libcurl had chosen.
        case .sendFailRewind:
            return true
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

    /// Whether it may be how libcurl calls the loss of a connection, whatever had come of an answer. It says more of an answer that it can't
    /// read.
    static func mayBeLoss(_ failure: TransferFailure) -> Bool {
        [.sendFailRewind, .sendError, .recvError, .gotNothing, .partialFile, .abortedByCallback].contains(failure.code)
    }

    /// Whether the request needs a connection of its own. One reason is that libcurl gave up after five attempts of its own: if a server takes
    /// few requests on each HTTP/2 connection, some of many concurrent ones fail every time. Only libcurl's text shows this.
    static func needsOwnConnection(_ failure: TransferFailure) -> Bool {
        failure.code == .sendFailRewind || failure.text.hasPrefix("Connection died, tried ")
    }
}
