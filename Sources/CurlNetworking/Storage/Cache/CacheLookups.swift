/// The look-ups in a cache that are under way: all requests for one key share the answer to the first. A value.
struct CacheLookups {
    typealias Completion = @Sendable (StoredResponse?) -> Void

    private struct Lookup {
        /// Called with the result.
        var completions: [Completion] = []
        /// What was written since it began, an inner nil for a removal: the cache may have been asked before that.
        var written: StoredResponse??
    }

    private var lookups: [String: Lookup] = [:]

    var count: Int { lookups.count }

    func contains(_ key: String) -> Bool { lookups[key] != nil }

    /// Returns true if the caller must begin the look-up; otherwise one for the same key is under way.
    mutating func add(_ completion: @escaping Completion, for key: String) -> Bool {
        lookups[key, default: Lookup()].completions.append(completion)
        return lookups[key]?.completions.count == 1
    }

    /// A response was written for `key`; nil if it was removed.
    mutating func noteWritten(_ response: StoredResponse?, for key: String) {
        lookups[key]?.written = .some(response)
    }

    mutating func noteRemovalOfAll() {
        for key in lookups.keys { lookups[key]?.written = .some(nil) }
    }

    /// The cache has answered with `found`. Returns the result, and the completions to call with it.
    mutating func end(_ key: String, found: StoredResponse?) -> (response: StoredResponse?, completions: [Completion]) {
        let lookup = lookups.removeValue(forKey: key) ?? Lookup()
        return (lookup.written ?? found, lookup.completions)
    }
}
