/// What a transfer has to do with others on its connection, where libcurl gets that wrong.
struct TransferSharing {
    enum PriorKnowledge {
        /// libcurl begins HTTP/2 on the transfer's connection.
        case begins
        /// The connection must speak HTTP/2 already: see `CurlQuirks.restartsPriorKnowledge`.
        case joins
    }

    /// nil unless the transfer speaks HTTP/2 without TLS.
    var priorKnowledge: PriorKnowledge?
    /// The connection is closed after the transfer unless a response arrives.
    var awaitsAnswer = false
    /// libcurl's limit for connecting. It may go by while the transfer waits for others' connections. nil for its own.
    var connectTimeout: Duration?
    /// `Callbacks.prerequest` has kept the request from going out on the connection that libcurl had chosen.
    var wasRefused = false
    /// How often the request may still go out; nil for any number.
    var sendsLeft: Int?

    /// Whether the transfer's connection speaks HTTP/2, known before any response. `negotiated` is what TLS has agreed on.
    func isMultiplexed(_ negotiated: @autoclosure () -> String?) -> Bool {
        priorKnowledge != nil || negotiated() == "h2"
    }

    /// Called when the request is about to go out. False if it must not any more.
    mutating func takeSend() -> Bool {
        guard let left = sendsLeft else { return true }
        sendsLeft = left - 1
        return left > 0
    }
}
