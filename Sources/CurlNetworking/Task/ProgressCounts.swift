import Foundation

/// The counts of a task's `Progress`: bytes in both directions. A value; the counts may come from a server, and be arbitrary.
struct ProgressCounts: Equatable, Sendable {
    /// -1 if nothing is known.
    private(set) var total: Int64
    private(set) var completed: Int64

    /// Creates the counts of a task that isn't over, or has failed. Negative lengths count as unknown. One unit always remains, even when
    /// every byte has arrived: the task may still fail, and a parent counts a child that was ever finished as finished for good.
    ///
    /// - Parameter expectedToReceive: nil before there is a response.
    init(sent: Int64, of expectedToSend: Int64, received: Int64, of expectedToReceive: Int64?) {
        let toSend = max(0, expectedToSend)
        switch expectedToReceive {
        // With nothing to receive, a sent body of unknown length would be the whole, and the unit that remains would be taken back from it.
        case .some(let toReceive) where toReceive > 0 || toReceive == 0 && expectedToSend >= 0:
            // A body of unknown length counts as long as the part sent so far.
            total = max(1, Self.sum(expectedToSend < 0 ? sent : toSend, toReceive))
        case .some where toSend > 0:
            total = max(2, Self.sum(toSend, received))
        case nil where toSend > 0:
            total = max(2, toSend)
        case .some, nil:
            total = -1
        }
        let sum = Self.sum(sent, received)
        completed = total < 0 ? sum : min(sum, total - 1)
    }

    /// The counts once the task has succeeded.
    var succeeded: ProgressCounts {
        var counts = self
        counts.total = max(total, completed, 1)
        counts.completed = counts.total
        return counts
    }

    /// Updates `progress`, which never appears finished in between.
    func show(on progress: Progress) {
        if total < 0 || total > progress.completedUnitCount {
            if progress.totalUnitCount != total { progress.totalUnitCount = total }
            if progress.completedUnitCount != completed { progress.completedUnitCount = completed }
        } else {
            progress.completedUnitCount = completed
            progress.totalUnitCount = total
        }
    }

    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflows) = max(0, first).addingReportingOverflow(max(0, second))
        return overflows ? .max : sum
    }
}
