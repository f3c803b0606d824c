import CurlNetworkingLocks

/// Objects that are found by a key for as long as other code uses them. Any thread.
final class WeakTable<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
    private struct Entry {
        weak var object: Object?
    }

    private let entries = Mutex<[Key: Entry]>([:])

    subscript(_ key: Key) -> Object? { entries.withLock { $0[key]?.object } }

    /// The object for `key`; if there is none, `make` makes it, with the table locked.
    func object(for key: Key, make: () -> Object) -> Object {
        entries.withLock { entries in
            if let object = entries[key]?.object { return object }
            entries = entries.filter { $0.value.object != nil }
            let object = make()
            entries[key] = Entry(object: object)
            return object
        }
    }
}
