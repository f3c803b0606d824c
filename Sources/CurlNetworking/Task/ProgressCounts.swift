import Foundation

/// The numbers of a task's `Progress`: bytes in both directions. A value; the numbers may come from a server, and be anything.
struct ProgressCounts: Equatable, Sendable {
    /// -1 if nothing is known.
    private(set) var total: Int64
    private(set) var completed: Int64

    /// Negative lengths count as unknown. `expectedToReceive` is nil before there is a response: until then one unit is left to do, because
    /// a parent counts a child as finished for good once it has been finished.
    init(sent: Int64, of expectedToSend: Int64, received: Int64, of expectedToReceive: Int64?) {
        let sum = Self.sum(sent, received)
        let toSend = max(0, expectedToSend)
        switch expectedToReceive {
        case .some(let toReceive) where toReceive >= 0:
            // A body of unknown length is as long as what was sent of it.
            total = max(1, Self.sum(expectedToSend < 0 ? sent : toSend, toReceive))
            completed = min(sum, total)
        case .some where toSend > 0:
            total = max(2, Self.sum(toSend, received))
            completed = min(sum, total - 1)
        case nil where toSend > 0:
            total = max(2, toSend)
            completed = min(sum, total - 1)
        case .some, nil:
            total = -1
            completed = sum
        }
    }

    /// The same once the task is over.
    func ended(successfully: Bool) -> ProgressCounts {
        var counts = self
        counts.total = max(total, completed, 1)
        if successfully { counts.completed = counts.total }
        return counts
    }

    /// Without a moment in between in which `progress` is finished.
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
