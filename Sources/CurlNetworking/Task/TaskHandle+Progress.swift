import CurlNetworkingLocks
import Foundation

// A task's counters, and the `Progress` that shows them on request. Foundation's isn't safe to use from several threads at once, and those
// of several tasks may have one parent: so each is changed on its session's delegate queue alone, and only one at a time in the whole
// process.

extension TaskHandle {
    /// Made on first use: most tasks never need one. Any thread.
    func progress(of task: URLSessionTask) -> Progress {
        shared.withLock { $0.makeProgress(for: task) }
    }

    /// Updates the task's `Progress`. Delegate queue.
    func showProgress() {
        let (progress, counts) = shared.withLock { ($0.progress, $0.progressCounts) }
        if let progress { TaskProgressChanges.show(counts, on: progress) }
    }

    /// Changes the counters, and schedules an update of the task's `Progress`. Loop.
    func count(_ change: (inout TaskState) -> Void) {
        let schedules = shared.withLock { shared in
            change(&shared)
            return shared.noteProgress()
        }
        if schedules { scheduleAtEndOfRound() }
    }

    /// Another request begins, with this body. Loop.
    func countRequest(with body: (any RequestBody)?) {
        count { shared in
            shared.counters.requests += 1
            shared.counters.sent = 0
            shared.counters.expectedToSend = body.map { $0.length ?? NSURLSessionTransferSizeUnknown } ?? 0
        }
    }

    /// The total of the request's body bytes handed to the transfer. Loop.
    func noteSent(_ totalBytes: Int64) {
        let isWatched = delegates.task != nil
        let schedules = shared.withLock { shared in
            shared.counters.sent = totalBytes
            let schedulesProgress = shared.noteProgress()
            guard isWatched else { return schedulesProgress }
            let sent = TaskEvent.SentBytes(
                total: totalBytes,
                expected: shared.counters.expectedToSend,
                request: shared.counters.requests
            )
            return shared.mailbox.post(.event(.sent(sent))) || schedulesProgress
        }
        if schedules { scheduleAtEndOfRound() }
    }
}

extension TaskState {
    /// The task's `Progress`, made when first asked for.
    mutating func makeProgress(for task: URLSessionTask) -> Progress {
        if let progress { return progress }
        let progress = Progress(parent: nil, userInfo: nil)
        progress.cancellationHandler = { [weak task] in task?.cancel() }
        progress.pausingHandler = { [weak task] in task?.suspend() }
        progress.resumingHandler = { [weak task] in task?.resume() }
        progress.isCancellable = true
        progress.isPausable = true
        progressCounts.show(on: progress)
        self.progress = progress
        return progress
    }
}

/// One change of a `Progress` at a time, in the whole process.
enum TaskProgressChanges {
    /// None of the program's code runs within it.
    private static let lock = Mutex(())

    static func show(_ counts: ProgressCounts, on progress: Progress) {
        lock.withLock { _ in counts.show(on: progress) }
    }
}
