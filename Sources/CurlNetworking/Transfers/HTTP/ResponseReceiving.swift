import CurlTransport
import Foundation

/// The receiving of a response: what has come of it, and where it goes. Loop only.
struct ResponseReceiving {
    var parser = HeadParser()
    /// The HTTP version expected on a connection without TLS.
    var plainVersion = ConnectionVersion.unknown
    /// What the program's own options of libcurl affect at most.
    var effect = OptionEffect.connection
    /// The newest head of an authentication that libcurl leads (NTLM, Negotiate): the response, if libcurl doesn't go on.
    var authenticationHead: ResponseHead?
    /// How many such heads there were.
    var authenticationRounds = 0
    /// A server and a proxy take one or two each, Kerberos perhaps more. libcurl would go on for ever.
    var hasTooManyRounds: Bool { authenticationRounds > 10 }
    var head: ResponseHead?
    /// Requests that wait in libcurl for a connection may go ahead, and it doesn't notice: since the head has arrived, they can share this
    /// one, or it turns out that they can't.
    var releasesWaiting = false
    /// When the head arrived, if metrics are wanted.
    var answered: Date?
    var route = BodyRoute.discard
    /// Bytes of the decoded body.
    var count: Int64 = 0
    /// Bytes of the body as received, without those that are dropped.
    var arrivedCount: Int64 = 0
    /// libcurl was told to ignore Content-Length, so nothing has compared it with `arrivedCount` yet.
    var ignoresLength = false
    var discarding = Discarding()
    var tinyPieces = TinyPieces()
    /// Watches how TLS ends, where only the connection's end delimits the body.
    var tlsClosure: TLSClosure?

    /// The reading of a body that is dropped, to keep its connection.
    struct Discarding {
        var count = 0
        /// When the rest is given up; nil while nothing of that is decided.
        var end: Deadline?
    }
}
