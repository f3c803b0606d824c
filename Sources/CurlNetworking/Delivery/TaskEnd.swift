import Foundation

/// One message of a task's end. They are delivered in this order.
enum TaskEnd: Sendable {
    /// A download's file to be discarded, as the task was cancelled after all.
    case unwanted(DownloadedFile)
    /// A download's file, for the delegate.
    case downloaded(DownloadedFile)
    case metrics(TaskMetrics)
    /// The result, for the delegate, the handler or the waiting Swift task.
    case result(Outcome, TaskResponse?)
    /// The result was delivered earlier.
    case over
}
