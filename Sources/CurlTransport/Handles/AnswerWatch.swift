/// Watches the kept connection that a request goes out on for the first bytes of the answer. libcurl counts complete lines
/// of a head only, and sends a request again if there was none. Loop only.
///
/// For requests that must not be carried out twice: any byte of an answer is a sign that one was. Over TLS, what has arrived may
/// be a closing alert, and over a Unix domain socket the system doesn't count: there nothing is noted.
package final class AnswerWatch {
    /// Bytes of an answer had arrived when the connection was closed.
    package private(set) var hasHeard = false

    package init() {}

    /// Called when the connection is about to be closed. `before` and `after` are how many bytes had arrived on it when the
    /// request went out, and by now.
    package func connectionEnds(before: Int64, after: Int64) {
        // Its end counts as a byte.
        if after > before + 1 { hasHeard = true }
    }
}
