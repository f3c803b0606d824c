/// Values of objects by key, each kept for as long as its object exists. The table's owner guards it.
///
/// `@unchecked Sendable`: callers use only the values of objects that aren't Sendable.
struct WeakEntries<Key: Hashable & Sendable, Object: AnyObject, Value: Sendable>: @unchecked Sendable {
    private struct Entry {
        weak var object: Object?
        let value: Value
    }

    private var entries: [Key: Entry] = [:]
    /// How many entries there may be before those of dead objects are removed, which isn't done for each new one.
    private var room = minimumRoom
    private static var minimumRoom: Int { 64 }

    /// How many entries there are, including those of dead objects.
    var count: Int { entries.count }

    subscript(key: Key) -> (object: Object, value: Value)? {
        guard let entry = entries[key], let object = entry.object else { return nil }
        return (object, entry.value)
    }

    /// Objects that were looked at, for the caller to release after unlocking: each may be the last reference by then.
    typealias Seen = [Object]

    mutating func insert(_ object: Object, _ value: Value, for key: Key) -> Seen {
        let seen = makeRoom()
        entries[key] = Entry(object: object, value: value)
        return seen
    }

    /// Leaves room for twice as many as are in use, so that a new one costs the same however many there are.
    private mutating func makeRoom() -> Seen {
        guard entries.count >= room else { return [] }
        var seen: Seen = []
        entries = entries.filter { entry in
            guard let object = entry.value.object else { return false }
            seen.append(object)
            return true
        }
        room = max(Self.minimumRoom, 2 * entries.count)
        return seen
    }
}
