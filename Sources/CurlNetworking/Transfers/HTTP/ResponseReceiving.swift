import CurlTransport
import Foundation

/// The receiving of a response: what has come of it, and where it goes. Loop only.
struct ResponseReceiving {
    var parser = HeadParser()
    /// That of a connection without TLS.
    var plainVersion = ConnectionVersion.unknown
    /// Of the program's own options.
    var effect = OptionEffect.connection
    /// The newest step of a conversation that libcurl leads: the response, if libcurl doesn't go on.
    var step: ResponseHead?
    /// How many there were.
    var stepCount = 0
    /// A server and a proxy take one or two each, Kerberos perhaps more. libcurl would go on for ever.
    var hasTooManySteps: Bool { stepCount > 10 }
    var head: ResponseHead?
    /// Requests that wait in libcurl for a connection may go ahead, and it doesn't notice: since the head has arrived, they can share this
    /// one, or it turns out that they can't.
    var releasesWaiting = false
    /// When the head arrived, if metrics are wanted.
    var answered: Date?
    var route = BodyRoute.discard
    /// Bytes of the decoded body.
    var count: Int64 = 0
    /// Bytes of the body as the server has sent it, without those that nobody wants.
    var arrivedCount: Int64 = 0
    /// libcurl hasn't compared that with what the head says.
    var ignoresLength = false
    var discarding = Discarding()
    /// Of a connection with TLS that alone says where the body ends.
    var tlsClosure: TLSClosure?

    /// The reading of a body that is dropped, to keep its connection.
    struct Discarding {
        var count = 0
        /// When the rest is given up; nil while nothing of that is decided.
        var end: Deadline?
    }
}
