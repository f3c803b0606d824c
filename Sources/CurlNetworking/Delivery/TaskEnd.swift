import Foundation

/// A step of a task's end: each is told in a message of its own, in this order.
enum TaskEnd: Sendable {
    /// A download's file, for the delegate.
    case downloaded(DownloadedFile)
    case metrics(TaskMetrics)
    /// The result, for the delegate, the handler or the Swift task that waits for it.
    case result(Result<Outcome, URLError>, URLResponse?)
    /// The result was handed over before.
    case over
}
