/// Has libcurl look now and then at a transfer that waits for the server to ask for the request's body (RFC 9110 §10.1.1), because it may
/// miss the moment at which it has waited long enough: see `CurlQuirks.restartsContinueWait`. Loop only.
package final class ContinueWait {
    private let multi: Multi
    private let easy: EasyHandle
    private lazy var nextLook = Deadline { [weak self] in self?.look() }

    /// libcurl waits for a second.
    private static let interval = Duration.milliseconds(500)

    /// nil if libcurl doesn't miss it.
    package init?(of easy: EasyHandle, in multi: Multi) {
        guard multi.quirks.restartsContinueWait else { return nil }
        (self.multi, self.easy) = (multi, easy)
    }

    package func begin() {
        multi.loop.schedule(nextLook, at: multi.loop.now + Self.interval)
    }

    package func end() {
        multi.loop.cancel(nextLook)
    }

    private func look() {
        guard let handler = easy.handler, !handler.isAnswered else { return }
        multi.lookAgain(at: easy)
        begin()
    }
}
