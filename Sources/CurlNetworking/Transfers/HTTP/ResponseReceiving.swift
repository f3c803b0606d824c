import CurlTransport
import Foundation

/// The receiving of a response: the parts that have arrived, and where they go. Loop only.
struct ResponseReceiving {
    var parser = HeadParser()
    /// The HTTP version expected on a connection without TLS.
    var plainVersion = ConnectionVersion.unknown
    /// The most that the program's own libcurl options affect.
    var effect = OptionEffect.connection
    var head: ResponseHead?
    /// Whether requests that wait in libcurl for a connection may go ahead unnoticed: now that the head has arrived, they can share this
    /// one, or it turns out that they can't.
    var releasesWaiting = false
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

    /// The reading of a body that is dropped, to keep its connection.
    struct Discarding {
        var count = 0
        /// When the rest is given up; nil while that is undecided.
        var end: Deadline?
    }

    /// Called with bytes of a body that is dropped.
    mutating func discard(_ count: Int) {
        self.count += Int64(count)
        discarding.count += count
    }

    /// What whether the response is complete depends on, as far as it has arrived.
    var circumstances: CompletionPolicy.Circumstances {
        CompletionPolicy.Circumstances(
            isWanted: route != .discard,
            arrivedCount: arrivedCount,
            ignoresLength: ignoresLength,
            isTruncated: tlsClosure?.wasAnnounced == false
        )
    }
}
