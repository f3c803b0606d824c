import CurlNetworkingLocks
import Foundation

/// Names by which an agent knows objects of the program's, each as long as the object exists. Any thread.
final class DeciderNames: Sendable {
    /// `@unchecked Sendable`: the object is only compared.
    private struct Entry: @unchecked Sendable {
        weak var decider: AnyObject?
        let name: UUID
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    func name(of decider: AnyObject) -> UUID {
        nonisolated(unsafe) let decider = decider
        return entries.withLock { entries in
            let key = ObjectIdentifier(decider)
            // Another object may have had the same address.
            if let entry = entries[key], entry.decider === decider { return entry.name }
            entries = entries.filter { $0.value.decider != nil }
            let entry = Entry(decider: decider, name: .random())
            entries[key] = entry
            return entry.name
        }
    }
}
