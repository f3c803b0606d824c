import CurlNetworkingLocks

/// Objects that are found by a key for as long as other code uses them. Any thread.
final class WeakTable<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
    private let entries = Mutex(WeakEntries<Key, Object, Void>())

    subscript(_ key: Key) -> Object? { entries.withLock { $0[key]?.object } }

    /// How many entries the table has, including those of dead objects.
    var count: Int { entries.withLock { $0.count } }

    /// The object for `key`; if there is none, `make` makes it, with the table locked.
    func object(for key: Key, make: () -> Object) -> Object {
        let (object, seen) = entries.withLock { entries in
            if let object = entries[key]?.object { return (object, []) }
            let object = make()
            return (object, entries.insert(object, (), for: key))
        }
        withExtendedLifetime(seen) {}
        return object
    }
}
