import Foundation

@testable import CurlNetworking

/// What program and agent make of each other's messages, as far as that takes neither a session nor a file.
struct AgentTalk {
    /// The program's tasks.
    private var tasks: [UUID: Task] = [:]

    private final class Task {
        var state: TaskState

        init(_ listing: TaskListing) {
            state = TaskState(listing)
        }
    }

    // MARK: - The agent

    mutating func receive(_ message: ClientMessage) {
        switch message {
        case .hello(let hello):
            _ = try? hello.session?.settings.makeConfiguration(in: URL(fileURLWithPath: "/tmp"))
        case .submit(let submission):
            guard submission.fault == nil else { return }
            Self.load(TaskRecord(submission))
        case .answer(_, let reply):
            _ = reply.answer
        case .intent, .acknowledge, .checkpoint, .renew, .status, .cancelAll:
            break
        }
    }

    /// What an agent does with a record that it may go by, before anything is transferred.
    static func load(_ record: TaskRecord) {
        precondition(record.fault == nil && RecordName(record.name.text) == record.name)
        precondition(RecordName(batch: record.name.batchText) == record.name)
        var clock = TimeoutClock(earlier: record.elapsed)
        clock.start()
        precondition(clock.remaining(of: .infinity) >= .zero && clock.remaining(of: 60) <= .seconds(60))
        _ = DispatchTime.after(clock.remaining(of: record.submission.request.timeoutInterval))
        let request = record.submission.request.request
        let cookies = TaskCookies(record.submission.cookies.compactMap(\.stored))
        guard let url = request.url, case .found(let field) = cookies.cookieField(for: url) else { return }
        precondition(field.map { !$0.utf8.contains { $0 == 0x0A || $0 == 0x0D } } ?? true)
    }

    // MARK: - The program

    mutating func receive(_ message: AgentMessage) {
        switch message {
        case .listing(let listing):
            guard listing.submission.fault == nil else { return }
            let key = listing.submission.key
            tasks[key] = Task(listing)
            precondition(tasks[key]?.state.mailbox.isIdle == true, "what came before is no news")
            if let ending = listing.ending { end(key, ending) }
        case .progress(let all):
            for progress in all { tell(progress.key) { $0.apply(progress) } }
        case .event(let key, let event):
            tell(key) { $0.apply(event) }
        case .question(_, _, let query):
            let sender = ChallengeSender { _ in }
            _ = query.challenge(proposing: nil, sender: sender).protectionSpace.host
        case .ended(let key, let ending):
            end(key, ending)
        case .welcome, .status, .refused, .accepted, .checkpoint, .forgotten, .renewed, .done:
            break
        }
    }

    private mutating func end(_ key: UUID, _ ending: TaskEnding) {
        tell(key) { $0.apply(ending.progress) }
        _ = ending.error?.error.localizedDescription
        guard let metrics = ending.metrics?.metrics else { return }
        precondition(!(metrics.interval.duration < 0))
        precondition(!URLSessionTaskMetrics(metrics).description.isEmpty)
        for hop in metrics.hops { _ = (hop.requestEnd, hop.responseEnd, hop.connectEnd, hop.madeResponse) }
    }

    /// Has the delegate hear all that there is to hear, as `TaskReporter` does.
    private mutating func tell(_ key: UUID, _ change: (inout TaskState) -> Void) {
        guard let task = tasks[key] else { return }
        change(&task.state)
        while let message = task.state.mailbox.next() {
            switch message {
            case .event(.wrote(let total)): precondition(task.state.reported.report(written: total) >= 0)
            case .event(.sent(let sent)): precondition(task.state.reported.report(sent) >= 0)
            case .event(.resumed(let offset, _)): precondition(task.state.reported.report(written: offset) >= 0)
            default: break
            }
            _ = task.state.mailbox.delivered()
        }
        _ = task.state.progressCounts
    }
}
