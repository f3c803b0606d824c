import CurlNetworkingLocks
import Foundation

// A task's counters, and the `Progress` that shows them on request. Foundation's isn't safe to use from several threads at once, and those
// of several tasks may have one parent: so each is changed on its session's delegate queue alone, and only one at a time in the whole
// process.

extension TaskHandle {
    /// Made on first use: most tasks never need one. Any thread.
    func progress(of task: URLSessionTask) -> Progress {
        shared.withLock { shared in
            if let progress = shared.progress { return progress }
            let progress = Progress(parent: nil, userInfo: nil)
            progress.cancellationHandler = { [weak task] in task?.cancel() }
            progress.pausingHandler = { [weak task] in task?.suspend() }
            progress.resumingHandler = { [weak task] in task?.resume() }
            progress.isCancellable = true
            progress.isPausable = true
            shared.progressCounts.show(on: progress)
            shared.progress = progress
            return progress
        }
    }

    /// Updates the task's `Progress`. Delegate queue.
    func showProgress() {
        let (progress, counts) = shared.withLock { ($0.progress, $0.progressCounts) }
        guard let progress else { return }
        Self.progressChanges.withLock { _ in counts.show(on: progress) }
    }

    /// None of the program's code runs within it.
    private static let progressChanges = Mutex(())

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
