/// What a storage has still to be told, the last word on each cookie alone. A value.
///
/// Changes are written in batches: what was noted when one begins, in that order. What is noted later about a cookie that the batch has
/// yet to come to goes with it; the rest makes up the next one. So there is never more than one change for a cookie.
struct PendingCookieWrites {
    private var changes: [CookieKey: (order: Int, change: CookieChange)] = [:]
    private var nextOrder = 0
    /// What is left of the batch under way, the next one last.
    private var batch: [CookieKey] = []
    private var current: [CookieChange] = []
    private var currentKeys: Set<CookieKey> = []
    private var startedBatches = 0
    private var finishedBatches = 0

    /// Nothing waits, and nothing is being written.
    var isEmpty: Bool { changes.isEmpty && current.isEmpty }

    /// How many cookies wait or are being written.
    var count: Int { changes.count + current.count }

    /// The last word on a cookie that isn't written.
    subscript(key: CookieKey) -> CookieChange? {
        if let change = changes[key]?.change { return change }
        return currentKeys.contains(key) ? current.first { $0.cookie.key == key } : nil
    }

    mutating func note(_ change: CookieChange) {
        let key = change.cookie.key
        if case .remove(let cookie) = change, !cookie.isInStorage, !currentKeys.contains(key) {
            changes[key] = nil
        } else {
            changes[key] = (changes[key]?.order ?? nextOrder, change)
            nextOrder += 1
        }
    }

    // MARK: - Writing

    /// At most `limit` changes, to be written now; nil where there are none. `finish` or `putBack` comes next.
    mutating func take(upTo limit: Int) -> [CookieChange]? {
        while !changes.isEmpty {
            if batch.isEmpty {
                batch = changes.sorted { $0.value.order > $1.value.order }.map(\.key)
                startedBatches += 1
            }
            while current.count < limit, let key = batch.popLast() {
                if let change = changes.removeValue(forKey: key)?.change { current.append(change) }
            }
            if !current.isEmpty {
                currentKeys = Set(current.map(\.cookie.key))
                return current
            }
            finishedBatches = startedBatches
        }
        batch = []
        finishedBatches = startedBatches
        return nil
    }

    /// What was taken is written.
    mutating func finish() {
        current = []
        currentKeys = []
        if batch.isEmpty { finishedBatches = startedBatches }
    }

    /// What was taken is not written after all: it comes first again, unless there is a later word on it.
    mutating func putBack() {
        for change in current.reversed() {
            let key = change.cookie.key
            if changes[key] == nil { changes[key] = (-1, change) }
            batch.append(key)
        }
        current = []
        currentKeys = []
    }

    // MARK: - Waiting

    /// A point in time to wait for.
    struct Mark {
        fileprivate let batch: Int
    }

    /// When all that has been noted so far is written, which the batch after the one under way brings about at the latest.
    var mark: Mark { Mark(batch: startedBatches + 1) }

    func hasPassed(_ mark: Mark) -> Bool {
        isEmpty || finishedBatches >= mark.batch
    }
}
