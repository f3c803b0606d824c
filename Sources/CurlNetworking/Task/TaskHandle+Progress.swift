import Foundation

// A task's counters, which its `Progress` shows on request.

extension TaskHandle {
    /// Changes the counters, and schedules an update of the task's `Progress`. Loop.
    func count(_ change: (inout TaskState) -> Void) {
        updateOnLoop { shared in
            change(&shared)
            shared.noteProgress()
        }
    }

    /// Counts another request, which sends this part of the task's body. Loop.
    func countRequest(with body: (any RequestBody)?, _ part: BodyPart) {
        count { shared in
            shared.counters.requests += 1
            switch part {
            case .whole:
                shared.counters.sent = 0
                shared.counters.expectedToSend = body.map { $0.length ?? NSURLSessionTransferSizeUnknown } ?? 0
            case .none:
                break
            case .rest(let rest):
                if rest.offset > shared.counters.sent { shared.reported.skipSent(to: rest.offset) }
                shared.counters.noteUploaded(through: rest.offset, of: rest.total)
            }
        }
    }

    /// Notes that `count` bytes of the current request's body have been handed to the transfer. Loop.
    ///
    /// - Parameter start: The offset of the bytes in the task's body, if the request sends the rest of it; the counter then doesn't go
    ///   back, and stands still while lost bytes are sent again. nil for a request that sends the whole body.
    func noteSent(_ count: Int64, from start: Int64?) {
        let isWatched = isWatched
        updateOnLoop { shared in
            var totalBytes = count
            if let start {
                totalBytes = start.addingClamped(count)
                guard totalBytes > shared.counters.sent else { return }
            }
            shared.counters.sent = totalBytes
            shared.noteProgress()
            guard isWatched else { return }
            let sent = TaskEvent.SentBytes(
                total: totalBytes,
                expected: shared.counters.expectedToSend,
                request: shared.counters.requests,
                isRest: start == nil ? nil : true
            )
            shared.mailbox.post(.event(.sent(sent)))
        }
    }
}
