import Foundation
import Locks

// A task's counters, and the `Progress` that shows them to whoever asks for one. Foundation's isn't safe to use from several threads at
// once, and those of several tasks may stand below one parent: so each is changed on its session's delegate queue alone, and of all the
// tasks in the process one at a time.

extension TaskRunner {
    /// Made when first asked for: most tasks never need one. Any thread.
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

    /// Brings the task's `Progress` up to date. Delegate queue.
    func showProgress() {
        let (progress, counts) = shared.withLock { ($0.progress, $0.progressCounts) }
        guard let progress else { return }
        Self.progressChanges.withLock { _ in counts.show(on: progress) }
    }

    /// Nothing of the program's runs within it.
    private static let progressChanges = Mutex(())

    /// Changes what the counters show, and has the task's `Progress` follow. Loop.
    func count(_ change: (inout Shared) -> Void) {
        let schedules = shared.withLock { shared in
            change(&shared)
            return shared.noteProgress()
        }
        if schedules { scheduleDeliveryAtEndOfRound() }
    }

    /// Another request begins, with a body of so many bytes. Loop.
    func countRequest(withBodyOf length: Int64?, hasBody: Bool) {
        count { shared in
            shared.counters.requests += 1
            shared.counters.sent = 0
            shared.counters.expectedToSend = hasBody ? length ?? NSURLSessionTransferSizeUnknown : 0
        }
    }

    /// So many bytes of the request's body are on their way, in all. Loop.
    func noteSent(_ totalBytes: Int64) {
        let isWatched = delegates.task != nil
        let schedules = shared.withLock { shared in
            shared.counters.sent = totalBytes
            let schedulesProgress = shared.noteProgress()
            guard isWatched else { return schedulesProgress }
            let sent = Mailbox.SentBytes(
                total: totalBytes,
                expected: shared.counters.expectedToSend,
                request: shared.counters.requests
            )
            return shared.mailbox.post(.sent(sent)) || schedulesProgress
        }
        if schedules { scheduleDeliveryAtEndOfRound() }
    }
}

extension TaskRunner.Shared {
    /// The task's `Progress` is to follow, if somebody has asked for it. True when the caller must schedule a delivery.
    mutating func noteProgress() -> Bool {
        progress != nil && mailbox.postProgress()
    }

    var progressCounts: ProgressCounts {
        let running = ProgressCounts(
            sent: counters.sent,
            of: counters.expectedToSend,
            received: counters.received,
            of: response == nil ? nil : counters.expectedToReceive
        )
        guard machine.stage == .completed else { return running }
        return running.ended(successfully: outcome?.error == nil)
    }
}

extension TaskRunner.BodySource {
    /// How long the body of the task's first request will be, as far as that is known before it is made. In bytes; 0 for none.
    func expectedLength(in request: URLRequest?) -> Int64 {
        switch self {
        case .data(let data):
            return Int64(data.count)
        case .file(let url):
            return FileBody.length(of: url) ?? NSURLSessionTransferSizeUnknown
        case .stream:
            return request.flatMap(TaskRunner.announcedLength) ?? NSURLSessionTransferSizeUnknown
        case .request:
            guard let request else { return 0 }
            if let data = request.httpBody { return Int64(data.count) }
            guard request.httpBodyStream != nil else { return 0 }
            return TaskRunner.announcedLength(of: request) ?? NSURLSessionTransferSizeUnknown
        }
    }
}
