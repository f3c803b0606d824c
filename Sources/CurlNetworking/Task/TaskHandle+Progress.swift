import Foundation

// A task's counters, which its `Progress` shows on request.

extension TaskHandle {
    /// Changes the counters, and schedules an update of the task's `Progress`. Loop.
    func count(_ change: (inout TaskState) -> Void) {
        let schedules = shared.withLock { shared in
            change(&shared)
            return shared.noteProgress()
        }
        if schedules { scheduleAtEndOfRound() }
    }

    /// Another request begins, with this part of the task's body. Loop.
    func countRequest(with body: (any RequestBody)?, _ part: BodyPart) {
        count { shared in
            shared.counters.requests += 1
            switch part {
            case .whole:
                shared.counters.sent = 0
                shared.counters.expectedToSend = body.map { $0.length ?? NSURLSessionTransferSizeUnknown } ?? 0
            case .none:
                break
            case .rest(let offset, let total):
                shared.counters.sent = offset
                shared.counters.expectedToSend = total ?? NSURLSessionTransferSizeUnknown
            }
        }
    }

    /// The total of the task's body bytes handed to the transfer; the current request began with number `start`. Loop.
    func noteSent(_ totalBytes: Int64, from start: Int64) {
        let isWatched = delegates.task != nil
        let schedules = shared.withLock { shared in
            shared.counters.sent = totalBytes
            let schedulesProgress = shared.noteProgress()
            guard isWatched else { return schedulesProgress }
            let sent = TaskEvent.SentBytes(
                total: totalBytes,
                expected: shared.counters.expectedToSend,
                request: shared.counters.requests,
                start: start == 0 ? nil : start
            )
            return shared.mailbox.post(.event(.sent(sent))) || schedulesProgress
        }
        if schedules { scheduleAtEndOfRound() }
    }
}
