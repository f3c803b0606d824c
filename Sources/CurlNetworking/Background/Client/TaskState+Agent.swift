import Foundation

// What an agent says of a task, as the program shows it. The agent's numbers are not trusted, except that they aren't negative.

extension TaskState {
    /// The state of a task that an earlier program made.
    init(_ listing: TaskListing) {
        let submission = listing.submission
        self.init(
            consumer: submission.kind == .download ? .downloadDelegate : .delegate,
            currentRequest: submission.request.request
        )
        settings = submission.intent.settings
        // The agent is told of a task only once it is resumed.
        _ = machine.resume()
        if submission.intent.isSuspended { _ = machine.suspend() }
        switch submission.intent.cancellation {
        case .discardingBody: _ = machine.cancel(.discardingBody)
        case .keepingPartialFile: _ = machine.cancel(.keepingPartialFile)
        case nil: break
        }
        show(listing.progress)
        // What came before isn't news.
        _ = reported.report(written: counters.received)
        _ = reported.report(
            .init(total: counters.sent, expected: counters.expectedToSend, request: counters.requests)
        )
    }

    private mutating func show(_ progress: TaskProgress) {
        let sent = counters.sent
        counters = progress.counters
        // Bytes sent by an earlier agent still count.
        if counters.requests == 0 { counters.sent = max(sent, counters.sent) }
        if var current = progress.currentRequest?.request {
            if current.httpMethod == currentRequest?.httpMethod { current.httpBody = currentRequest?.httpBody }
            currentRequest = current
        }
        if let response = progress.response?.response { self.response = TaskResponse(response) }
    }

    /// Posts what is new in `progress`.
    mutating func apply(_ progress: TaskProgress) {
        let old = counters
        show(progress)
        let new = counters
        noteProgress()
        // Not after another agent of this task, whose count is higher.
        if old.sent == 0, let earlier = progress.sentEarlier { reported.skipSent(to: earlier) }
        if new.sent > old.sent || new.requests > old.requests && new.sent > 0 {
            let sent = TaskEvent.SentBytes(
                total: new.sent,
                expected: new.expectedToSend,
                request: new.requests,
                isRest: new.requests == 0 ? true : nil
            )
            mailbox.post(.event(.sent(sent)))
        }
        if case .downloadDelegate = consumer, new.received != old.received || new.restarts != old.restarts {
            if new.restarts != old.restarts { mailbox.post(.event(.wrote(0))) }
            mailbox.post(.event(.wrote(new.received)))
        }
    }

    /// The same for an event.
    mutating func apply(_ event: TaskEvent) {
        switch event {
        case .resumed(let offset, let expected):
            counters.received = offset
            counters.expectedToReceive = expected
            mailbox.post(.event(event))
        case .isWaitingForConnectivity, .informational:
            mailbox.post(.event(event))
        // Counted in the progress, not for other processes, or not sent for background tasks.
        case .becameDownload, .becameStream, .readClosed, .writeClosed, .captured, .sent, .body, .wrote,
            .openedWebSocket, .closedWebSocket:
            break
        }
    }
}
