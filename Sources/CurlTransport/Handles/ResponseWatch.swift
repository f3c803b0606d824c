/// Watches the kept connection on which a request is sent for the first bytes of the response. libcurl counts only complete
/// lines of a head, and sends a request again if there was none. Loop only.
///
/// For requests that must not be carried out twice: any byte of a response suggests that the request was carried out. Over TLS, the bytes
/// may be a closing alert, and over a Unix domain socket the system doesn't count them: nothing is noted.
package final class ResponseWatch {
    /// Whether bytes of a response had arrived when the connection was closed.
    package private(set) var hasHeard = false

    package init() {}

    /// Called when the connection is about to be closed. `before` and `after` are how many bytes had arrived on it when the
    /// request was sent, and by now.
    package func connectionEnds(before: Int64, after: Int64) {
        // The connection's end counts as a byte.
        if after > before + 1 { hasHeard = true }
    }
}
