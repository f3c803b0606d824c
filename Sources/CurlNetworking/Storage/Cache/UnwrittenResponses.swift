/// The changes of a cache that haven't been written yet, of which each replaces the one before it for the same key. A value.
struct UnwrittenResponses {
    struct Change {
        /// nil for a removal.
        let response: StoredResponse?
        /// As the cache counts it, in bytes.
        fileprivate let cost: Int
        /// Distinguishes changes of one key.
        fileprivate let number: Int
    }

    private var changes: [String: Change] = [:]
    private var lastNumber = 0
    /// The cost of all responses, in bytes.
    private(set) var totalCost = 0

    var count: Int { changes.count }
    var isEmpty: Bool { changes.isEmpty }

    subscript(key: String) -> Change? { changes[key] }

    /// Adds a change; `response` is nil for a removal. Returns true if the caller should schedule a write: otherwise an already scheduled
    /// one includes it.
    mutating func add(_ response: StoredResponse?, cost: Int, for key: String) -> Bool {
        lastNumber += 1
        let old = changes.updateValue(Change(response: response, cost: cost, number: lastNumber), forKey: key)
        totalCost += cost - (old?.cost ?? 0)
        return old == nil
    }

    /// `change` has been written. Returns false if another one has replaced it meanwhile, which must be written too.
    mutating func finish(_ change: Change, for key: String) -> Bool {
        guard changes[key]?.number == change.number else { return false }
        changes[key] = nil
        totalCost -= change.cost
        return true
    }

    /// Forgets all changes: scheduled writes find nothing to write.
    mutating func removeAll() {
        changes = [:]
        totalCost = 0
    }

    /// Makes all changes removals.
    mutating func replaceAllWithRemovals() {
        for key in Array(changes.keys) { _ = add(nil, cost: 0, for: key) }
    }
}
