import CurlNetworkingLocks
import Foundation

/// Names by which an agent knows the program's objects, each valid as long as its object exists. Any thread.
final class DeciderNames: Sendable {
    private let entries = Mutex(WeakEntries<ObjectIdentifier, AnyObject, UUID>())

    func name(of decider: AnyObject) -> UUID {
        // Only held weakly, and compared.
        nonisolated(unsafe) let decider = decider
        nonisolated(unsafe) var seen: [AnyObject] = []
        defer { withExtendedLifetime(seen) {} }
        return entries.withLock { entries in
            let key = ObjectIdentifier(decider)
            // The entry of an earlier object with the same address is gone.
            if let name = entries[key]?.value { return name }
            let name = UUID.random()
            seen = entries.insert(decider, name, for: key)
            return name
        }
    }
}
