import CurlNetworkingLocks

/// Objects that are found by a key for as long as other code uses them. Any thread.
final class WeakTable<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
    private struct Entry {
        weak var object: Object?
    }

    private struct Table {
        var entries: [Key: Entry] = [:]
        /// How many entries there may be before those whose objects are gone are taken out.
        var room = 16

        /// Makes room for one more entry. Twice as many as are in use fit before the next time, so that a new key costs the same however many there are.
        mutating func makeRoom() {
            guard entries.count >= room else { return }
            entries = entries.filter { $0.value.object != nil }
            room = max(16, 2 * entries.count)
        }
    }

    private let table = Mutex(Table())

    subscript(_ key: Key) -> Object? { table.withLock { $0.entries[key]?.object } }

    /// How many entries the table has, those included whose objects are gone.
    var count: Int { table.withLock { $0.entries.count } }

    /// The object for `key`; if there is none, `make` makes it, with the table locked.
    func object(for key: Key, make: () -> Object) -> Object {
        table.withLock { table in
            if let object = table.entries[key]?.object { return object }
            table.makeRoom()
            let object = make()
            table.entries[key] = Entry(object: object)
            return object
        }
    }
}
