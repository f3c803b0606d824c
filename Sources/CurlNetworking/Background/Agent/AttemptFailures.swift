import Foundation

/// The failures of a task's attempts in this agent: whether and when another one follows, and the task's error once its time is up.
struct AttemptFailures {
    /// The last one that was followed by another attempt, or by waiting for one.
    var last: URLError?
    private var backoff = RetryBackoff()
    private var unannouncedEnds = UnannouncedEnds()

    /// Whether another attempt could do better than one that failed with `error` after `length` bytes. Called once for each that failed.
    ///
    /// - Parameter head: The last response's, as the server sent it; nil without one.
    mutating func mayRetry(after error: URLError, _ head: ResponseHead?, _ length: Int64) -> Bool {
        !unannouncedEnds.note(error, after: head, length) && error.isTransient
    }

    /// The delay before the next attempt, or before what failed beside it is tried again; longer each time.
    mutating func nextDelay() -> Duration { backoff.delay(jitter: .random(in: 0...1)) }

    /// An attempt has got as far as `position`, in bytes.
    mutating func noteProgress(to position: Int64) { backoff.noteProgress(to: position) }

    /// The next attempt is likely to succeed.
    mutating func resetDelay() { backoff.reset() }

    func timedOut(_ url: URL) -> URLError {
        let text = "The task took longer than timeoutIntervalForResource."
        guard let last else { return URLError(.timedOut, url: url, text) }
        let reason = " Its last attempt failed: \(last.localizedDescription)"
        return URLError(.timedOut, url: url, text + reason, details: [NSUnderlyingErrorKey: last])
    }
}
