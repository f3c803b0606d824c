import Foundation

/// Unwritten changes to the hosts that require https.
struct TransportSecurityNews: Sendable {
    /// By the host's name; nil for one to be removed.
    private var changes: [String: TransportSecurityHosts.Entry?] = [:]

    var isEmpty: Bool { changes.isEmpty }
    var count: Int { changes.count }

    /// - Parameter known: The hosts with the change.
    mutating func note(_ entry: TransportSecurityHosts.Entry?, for name: String, known: TransportSecurityHosts) {
        changes.updateValue(entry, forKey: name)
        limit(to: known)
    }

    /// Takes all changes.
    mutating func take() -> TransportSecurityNews {
        defer { self = TransportSecurityNews() }
        return self
    }

    /// Puts back `older`, which couldn't be written.
    mutating func putBack(_ older: TransportSecurityNews, known: TransportSecurityHosts) {
        changes.merge(older.changes) { newer, _ in newer }
        limit(to: known)
    }

    func apply(to hosts: inout TransportSecurityHosts, now: Date) {
        for (name, entry) in changes { hosts.set(entry, for: name, now: now) }
    }

    /// If nothing can be written, there may be too many: then only changes of hosts that are still known count.
    private mutating func limit(to known: TransportSecurityHosts) {
        guard changes.count > TransportSecurityHosts.maximumCount else { return }
        changes = changes.filter { known.entries[$0.key] != nil }
    }
}
