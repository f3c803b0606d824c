import Curl

/// Whether a request whose exchange has failed may go out once more, because the server has shown no sign of having looked at it.
enum ReplayPolicy {
    struct Circumstances {
        /// A line of a response has come, informational or not.
        var hasHeard = false
        /// A response's head has come.
        var hasHead = false
        /// The request was to join a connection without TLS that speaks HTTP/2.
        var joinsPriorKnowledge = false
    }

    /// A kept connection that the server had closed before the request came, or closed without a word. libcurl sees most of them itself,
    /// and sends the request again; these are the others.
    static func isLossOfKeptConnection(_ failure: TransferFailure, _ circumstances: Circumstances) -> Bool {
        guard !circumstances.hasHead else { return false }
        let isForeign = failure.code.rawValue == unsupportedProtocol
        if circumstances.joinsPriorKnowledge, isForeign || !failure.isOnKeptConnection {
            // The connection was gone or full, and the request went out as HTTP/1.1, to somebody who doesn't speak it: on a connection of its
            // own, or one that another such request had made.
            return !circumstances.hasHeard && [.sending, .receiving].contains(failure.phase)
        }
        switch failure.code.rawValue {
        // libcurl wanted to send it again, and would have had to read the body again for that.
        case rewindFailed:
            return true
        case sendError:
            return failure.isOnKeptConnection || isGivenUp(failure) && !circumstances.hasHeard
        case http2Error, partialFile, gotNothing, receiveError:
            return failure.isOnKeptConnection && !circumstances.hasHeard
        default:
            return false
        }
    }

    /// libcurl makes no more than five attempts of its own, all for what this is about: where a server takes few requests on each HTTP/2
    /// connection, many at once lose that race every time. A connection of their own has room for them. No code says so, but the words do.
    static func isGivenUp(_ failure: TransferFailure) -> Bool {
        failure.text.hasPrefix("Connection died, tried ")
    }

    // https://curl.se/libcurl/c/libcurl-errors.html
    /// What HTTP/2 is to those who speak HTTP/1.1.
    private static let unsupportedProtocol: UInt32 = 1
    private static let http2Error: UInt32 = 16
    /// What an HTTP/2 connection's end is to those who have no answer yet.
    private static let partialFile: UInt32 = 18
    private static let gotNothing: UInt32 = 52
    private static let sendError: UInt32 = 55
    private static let receiveError: UInt32 = 56
    private static let rewindFailed: UInt32 = 65
}
