/// The changes that have yet to be written to a storage, at most one for each cookie. A value.
///
/// Changes are written in batches. A batch consists of the changes noted when it begins, in order. A change noted later replaces the
/// earlier one for its cookie if that hasn't been written yet, and otherwise goes into the next batch.
struct PendingCookieWrites {
    private struct Noted {
        /// The change's place in its batch: that of the earliest change it replaces.
        let order: Int
        /// How many changes had been noted before it.
        let number: Int
        let change: CookieChange
        /// Whether the storage has a cookie with the key, or may have one: the earlier changes that this one replaces no longer tell.
        let isStored: Bool
    }

    private var changes: [CookieKey: Noted] = [:]
    private var notedCount = 0
    /// How many changes had been noted when the storage was last compared.
    private var comparedCount = 0
    /// The rest of the current batch, the next cookie last.
    private var batch: [CookieKey] = []
    private var current: [CookieChange] = []
    private var currentKeys: Set<CookieKey> = []
    private var startedBatches = 0
    private var finishedBatches = 0

    /// Whether nothing is waiting or being written.
    var isEmpty: Bool { changes.isEmpty && current.isEmpty }

    /// How many cookies are waiting or being written.
    var count: Int { changes.count + current.count }

    /// The latest unwritten change of a cookie.
    subscript(key: CookieKey) -> CookieChange? {
        if let change = changes[key]?.change { return change }
        return currentKeys.contains(key) ? current.first { $0.cookie.key == key } : nil
    }

    mutating func note(_ change: CookieChange) {
        let key = change.cookie.key
        let earlier = changes[key]
        let isStored = change.cookie.isInStorage || earlier?.isStored ?? false || currentKeys.contains(key)
        if case .remove = change, !isStored {
            changes[key] = nil
        } else {
            let order = earlier?.order ?? notedCount
            changes[key] = Noted(order: order, number: notedCount, change: change, isStored: isStored)
            notedCount += 1
        }
    }

    // MARK: - The program's changes

    /// The storage has been compared: what the program changes there from now on comes after everything noted so far.
    mutating func markCompared() {
        comparedCount = notedCount
    }

    /// The program has changed the cookie in the storage since the last comparison. A change noted before that is dropped.
    mutating func giveWay(_ key: CookieKey) {
        if let noted = changes[key], noted.number < comparedCount { changes[key] = nil }
    }

    // MARK: - Writing

    /// At most `limit` changes to write now; nil if there are none. Call `finish` or `putBack` next.
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

    /// The taken changes have been written.
    mutating func finish() {
        current = []
        currentKeys = []
        if batch.isEmpty { finishedBatches = startedBatches }
    }

    /// The taken changes haven't been written: they come first again, unless there are later ones.
    mutating func putBack() {
        for change in current.reversed() {
            let key = change.cookie.key
            if changes[key] == nil { changes[key] = Noted(order: -1, number: -1, change: change, isStored: true) }
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

    /// When everything noted so far is written: at the latest with the batch after the current one.
    var mark: Mark { Mark(batch: startedBatches + 1) }

    func hasPassed(_ mark: Mark) -> Bool {
        isEmpty || finishedBatches >= mark.batch
    }
}
