/// A transfer's relations to others on its connection, where libcurl gets them wrong.
struct TransferSharing {
    enum PriorKnowledge {
        /// libcurl begins HTTP/2 on the transfer's connection.
        case begins
        /// The connection must speak HTTP/2 already: see `CurlQuirks.restartsPriorKnowledge`.
        case joins
    }

    /// Why `Callbacks.prerequest` didn't let a request be sent.
    enum Refusal {
        /// Not on the connection that libcurl had chosen, or not with what is left of its body.
        case there
        /// Not again.
        case again
    }

    /// nil unless the transfer speaks HTTP/2 without TLS.
    var priorKnowledge: PriorKnowledge?
    /// Whether the connection is closed after the transfer unless a response arrives.
    var awaitsResponse = false
    /// libcurl's limit for connecting, which may expire while the transfer waits for others' connections. nil for the default.
    var connectTimeout: Duration?
    var refusal: Refusal?
    /// How many more times the request may be sent; nil for any number.
    var sendsLeft: Int?

    /// Whether the transfer's connection speaks HTTP/2, known before any response. `negotiated` is the protocol that TLS agreed on.
    func isMultiplexed(_ negotiated: @autoclosure () -> String?) -> Bool {
        priorKnowledge != nil || negotiated() == "h2"
    }

    /// Called when the request is about to be sent. False if it may not be sent again.
    mutating func takeSend() -> Bool {
        guard let left = sendsLeft else { return true }
        sendsLeft = left - 1
        return left > 0
    }
}
