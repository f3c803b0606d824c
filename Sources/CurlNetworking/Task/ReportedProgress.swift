/// The progress last reported to a task's delegate, in each direction.
struct ReportedProgress {
    private(set) var sent = TaskEvent.SentBytes(total: 0, expected: 0, request: 0)
    private(set) var written: Int64 = 0

    /// Notes that the delegate is told of progress up to `sent`; returns the growth. The count restarts with each request, unless that
    /// sends a rest, and when a body is sent again.
    mutating func report(_ sent: TaskEvent.SentBytes) -> Int64 {
        defer { self.sent = sent }
        let goesOn = sent.request == self.sent.request || sent.isRest == true
        return goesOn && sent.total > self.sent.total ? sent.total - self.sent.total : sent.total
    }

    /// The same for bytes in a download's file, which may have been restarted.
    mutating func report(written total: Int64) -> Int64 {
        defer { written = total }
        return total < written ? total : total - written
    }

    /// The next rest of the body begins at `offset`: the bytes before that count as reported, even if an earlier task has sent them.
    mutating func skipSent(to offset: Int64) {
        sent.total = max(sent.total, offset)
    }
}
