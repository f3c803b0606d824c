import CurlNetworkingLocks
import Foundation

/// Names by which an agent knows objects of the program's, each as long as the object exists. Any thread.
final class DeciderNames: Sendable {
    private let entries = Mutex(WeakEntries<ObjectIdentifier, AnyObject, UUID>())

    func name(of decider: AnyObject) -> UUID {
        // It is only kept weakly, and compared.
        nonisolated(unsafe) let decider = decider
        nonisolated(unsafe) var seen: [AnyObject] = []
        defer { withExtendedLifetime(seen) {} }
        return entries.withLock { entries in
            let key = ObjectIdentifier(decider)
            // That of an object that had the same address before is gone.
            if let name = entries[key]?.value { return name }
            let name = UUID.random()
            seen = entries.insert(decider, name, for: key)
            return name
        }
    }
}
