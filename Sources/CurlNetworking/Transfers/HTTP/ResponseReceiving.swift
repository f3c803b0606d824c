import CurlTransport
import Foundation

/// The receiving of a response: the parts that have arrived, and where they go. Loop only.
struct ResponseReceiving {
    var parser = HeadParser()
    /// The HTTP version expected on a connection without TLS.
    var plainVersion = ConnectionVersion.unknown
    /// The most that the program's own libcurl options affect.
    var effect = OptionEffect.connection
    /// The latest head of an authentication that libcurl conducts (NTLM, Negotiate): the response, if libcurl doesn't continue.
    var authenticationHead: ResponseHead?
    /// How many such heads there were.
    private var authenticationRounds = 0
    /// A server and a proxy take one or two each, Kerberos perhaps more. libcurl would continue for ever.
    var hasTooManyRounds: Bool { authenticationRounds > 10 }
    var hasBegunAuthentication: Bool { authenticationRounds > 0 }
    var head: ResponseHead?
    /// Whether requests that wait in libcurl for a connection may go ahead unnoticed: now that the head has arrived, they can share this
    /// one, or it turns out that they can't.
    var releasesWaiting = false
    /// When the head arrived, if metrics are wanted.
    var answered: Date?
    var route = BodyRoute.discard
    /// Bytes of the decoded body.
    var count: Int64 = 0
    /// Bytes of the body as received, without those that are dropped.
    var arrivedCount: Int64 = 0
    /// Whether libcurl was told to ignore Content-Length, which then has yet to be compared with `arrivedCount`.
    var ignoresLength = false
    var discarding = Discarding()
    var tinyPieces = TinyPieces()
    /// Watches how TLS ends, where only the connection's end delimits the body.
    var tlsClosure: TLSClosure?

    /// Keeps a head of an authentication that libcurl conducts, and expects another. False if there have been too many.
    mutating func keep(authenticationHead head: ResponseHead) -> Bool {
        authenticationRounds += 1
        guard !hasTooManyRounds else { return false }
        (parser, authenticationHead) = (HeadParser(), head)
        return true
    }

    /// The reading of a body that is dropped, to keep its connection.
    struct Discarding {
        var count = 0
        /// When the rest is given up; nil while that is undecided.
        var end: Deadline?
    }
}
