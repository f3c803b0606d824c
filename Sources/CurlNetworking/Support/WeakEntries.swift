/// A value for each of some objects, by its key, for as long as the object exists. Whoever has the table guards it.
///
/// `@unchecked Sendable`: of objects that aren't, callers only use the values.
struct WeakEntries<Key: Hashable & Sendable, Object: AnyObject, Value: Sendable>: @unchecked Sendable {
    private struct Entry {
        weak var object: Object?
        let value: Value
    }

    private var entries: [Key: Entry] = [:]
    /// How many entries there may be before those whose objects are gone are removed: not with each new one.
    private var room = minimumRoom
    private static var minimumRoom: Int { 64 }

    /// How many entries there are, those included whose objects are gone.
    var count: Int { entries.count }

    subscript(key: Key) -> (object: Object, value: Value)? {
        guard let entry = entries[key], let object = entry.object else { return nil }
        return (object, entry.value)
    }

    /// Objects that were looked at, for the caller to release once its lock is open: each of them may be the last reference by then.
    typealias Seen = [Object]

    mutating func insert(_ object: Object, _ value: Value, for key: Key) -> Seen {
        let seen = makeRoom()
        entries[key] = Entry(object: object, value: value)
        return seen
    }

    /// Twice as many as are in use fit before the next time, so that a new one costs the same however many there are.
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
