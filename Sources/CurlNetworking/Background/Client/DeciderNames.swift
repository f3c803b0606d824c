import CurlNetworkingLocks
import Foundation

/// Names by which an agent knows objects of the program's, each as long as the object exists. Any thread.
final class DeciderNames: Sendable {
    /// `@unchecked Sendable`: the object is only compared.
    private struct Entry: @unchecked Sendable {
        weak var decider: AnyObject?
        let name: UUID
    }

    private struct Content {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// At this number of entries, those whose objects are gone are removed: not with each new one.
        var limit = 64

        mutating func removeOld() {
            guard entries.count >= limit else { return }
            entries = entries.filter { $0.value.decider != nil }
            limit = max(64, 2 * entries.count)
        }
    }

    private let content = Mutex(Content())

    func name(of decider: AnyObject) -> UUID {
        nonisolated(unsafe) let decider = decider
        return content.withLock { content in
            let key = ObjectIdentifier(decider)
            // Another object may have had the same address.
            if let entry = content.entries[key], entry.decider === decider { return entry.name }
            content.removeOld()
            let entry = Entry(decider: decider, name: .random())
            content.entries[key] = entry
            return entry.name
        }
    }
}
