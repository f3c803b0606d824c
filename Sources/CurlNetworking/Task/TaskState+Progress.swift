import CurlNetworkingLocks
import Foundation

// The `Progress` that shows a task's counters on request. Foundation's isn't safe to use from several threads at once, and those of several
// tasks may share a parent, so each is changed only on its session's delegate queue, and only one at a time in the whole process.

extension TaskState {
    /// Has the task's `Progress` updated, if the program has asked for one.
    mutating func noteProgress() {
        if progress != nil { mailbox.postProgress() }
    }

    var progressCounts: ProgressCounts {
        let counts = ProgressCounts(
            sent: counters.sent,
            of: counters.expectedToSend,
            received: counters.received,
            of: response == nil ? nil : counters.expectedToReceive
        )
        return machine.stage == .completed && outcome?.error == nil ? counts.succeeded : counts
    }

    /// Returns the task's `Progress`, created on first use. `task` is called outside the lock.
    mutating func makeProgress(for task: @escaping @Sendable () -> URLSessionTask?) -> Progress {
        if let progress { return progress }
        let progress = SteeringProgress(of: task)
        progressCounts.show(on: progress)
        self.progress = progress
        return progress
    }
}

/// Changes one `Progress` at a time in the whole process.
enum TaskProgressChanges {
    /// None of the program's code runs within the lock.
    private static let lock = Mutex(())

    static func show(_ counts: ProgressCounts, on progress: Progress) {
        lock.withLock { _ in counts.show(on: progress) }
    }
}
