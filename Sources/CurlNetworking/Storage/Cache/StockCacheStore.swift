import CurlTransport
import Foundation
import CurlNetworkingLocks

/// The store for a `URLCache` that isn't a `CurlURLCache`: the stock module's own, or a program's subclass.
///
/// The stock cache lists and reads files in every call. So it is used on separate queues, and as little as possible: a response that it
/// doesn't have isn't looked for again for a second. A response that is being written is found at once. One store serves all sessions with
/// the same cache.
///
/// `@unchecked Sendable`: `state` guards what changes, and the cache itself.
final class StockCacheStore: CacheStore, @unchecked Sendable {
    let revalidations = Revalidations()
    let pendingResponses = PendingResponses()
    private let keptCache: ReleasedOffLoop<URLCache>
    private var cache: URLCache { keptCache.value }
    /// A subclass may have its own logic, so it is always asked.
    private let isAlwaysAsked: Bool
    private let readQueue = DispatchQueue(label: "CurlNetworking.cache.read", qos: .utility)
    private let writeQueue = DispatchQueue(label: "CurlNetworking.cache.write", qos: .utility)
    private let state = Mutex(State())

    fileprivate struct State {
        var unwritten = UnwrittenResponses()
        var lookups = CacheLookups()
        /// The keys that this process stored or found.
        var present: Set<String> = []
        var absent = AbsentKeys()
        /// Whether the whole cache was empty, as far as it was checked in this epoch.
        var isEmpty = false
        var hasCheckedEmptiness = false
        var reading = TimeBudget()
        var writing = TimeBudget()
    }

    private static let maximumKeys = 10_000
    /// With more look-ups under way, further requests go without the cache.
    private static let maximumLookups = 4
    /// Beyond this many responses or bytes, no more are stored until some are written.
    private static let maximumUnwritten = (responses: 64, bytes: 16 << 20)

    private static let stores = WeakTable<ObjectIdentifier, StockCacheStore>()

    private init(_ cache: URLCache) {
        keptCache = ReleasedOffLoop(cache)
        isAlwaysAsked = type(of: cache) != URLCache.self
    }

    /// The only store for `cache`.
    static func store(over cache: URLCache) -> StockCacheStore {
        stores.object(for: ObjectIdentifier(cache)) { StockCacheStore(cache) }
    }

    var sizeLimit: Int {
        CacheStorability.sizeLimit(memoryCapacity: cache.memoryCapacity, diskCapacity: cache.diskCapacity)
    }

    // MARK: - Reading

    func find(_ key: String, now: MonotonicTime, isInsistent: Bool) -> CacheFinding {
        state.withLock { state in
            if let change = state.unwritten[key] { return .known(change.response) }
            if isInsistent || isAlwaysAsked { return .unknown }
            state.beginEpoch(at: now)
            if state.isEmpty || state.absent.contains(key) { return .known(nil) }
            if state.present.contains(key) || state.lookups.contains(key) { return .unknown }
            return state.lookups.count < Self.maximumLookups && state.reading.allows(at: now) ? .unknown : .known(nil)
        }
    }

    func lookUp(_ key: String, for request: URLRequest, completion: @escaping @Sendable (StoredResponse?) -> Void) {
        let starts = state.withLock { $0.lookups.add(completion, for: key) }
        if starts { readQueue.async { self.lookUp(key, for: request) } }
    }

    /// On the read queue.
    private func lookUp(_ key: String, for request: URLRequest) {
        let start = MonotonicTime.now
        let found = cache.cachedResponse(for: request).flatMap { StoredResponse(fromStockCache: $0, key: key) }
        let end = MonotonicTime.now
        let (response, completions, checksEmptiness) = state.withLock { state in
            if found == nil { state.reading.spend(end - start) }
            let lookup = state.lookups.end(key, found: found)
            let response = state.unwritten[key].map(\.response) ?? lookup.response
            let checksEmptiness = state.note(
                key,
                isPresent: response != nil,
                isAlwaysAsked: isAlwaysAsked,
                maximumKeys: Self.maximumKeys
            )
            return (response, lookup.completions, checksEmptiness)
        }
        if checksEmptiness, cache.currentMemoryUsage == 0, cache.currentDiskUsage == 0 {
            state.withLock { $0.isEmpty = $0.unwritten.isEmpty && $0.present.isEmpty }
        }
        for completion in completions { completion(response) }
    }

    // MARK: - Writing (any thread)

    /// Callers wait, because programs look into the cache once they have the response. They don't wait for a subclass, which may wait for
    /// them.
    func store(_ response: StoredResponse, orWait completion: @escaping @Sendable () -> Void) -> Bool {
        guard enqueue(response), !isAlwaysAsked else { return false }
        writeQueue.async(execute: completion)
        return true
    }

    func store(_ response: StoredResponse) {
        _ = enqueue(response)
    }

    /// Returns false if the cache is too busy: then what this process stored or found for the key is removed, since it is older.
    private func enqueue(_ response: StoredResponse) -> Bool {
        let (isStored, starts) = state.withLock { state -> (Bool, Bool) in
            let key = response.key
            if state.unwritten.count < Self.maximumUnwritten.responses, state.writing.allows(at: .now),
                state.unwritten.totalCost + response.data.count <= Self.maximumUnwritten.bytes
            {
                return (true, state.enqueue(key, response, maximumKeys: Self.maximumKeys))
            }
            guard state.unwritten[key] != nil || state.present.contains(key) else { return (false, false) }
            return (false, state.enqueue(key, nil, maximumKeys: Self.maximumKeys))
        }
        if starts { writeQueue.async { self.write(response.key) } }
        return isStored
    }

    func remove(_ url: URL) {
        let key = StoredResponse.key(of: url)
        pendingResponses.outdate(key)
        let starts = state.withLock { state in
            state.beginEpoch(at: .now)
            if state.isEmpty, state.unwritten.isEmpty { return false }
            return state.enqueue(key, nil, maximumKeys: Self.maximumKeys)
        }
        if starts { writeQueue.async { self.write(key) } }
    }

    func removeAll() {
        pendingResponses.outdateAll()
        writeQueue.sync {
            state.withLock { state in
                state.unwritten.removeAll()
                state.present = []
            }
            cache.removeAllCachedResponses()
            state.withLock { state in
                state.lookups.noteRemovalOfAll()
            }
        }
    }

    func waitForWrites() {
        writeQueue.sync {}
    }

    /// Writes whatever is unwritten for `key` by now. On the write queue.
    private func write(_ key: String) {
        while let change = state.withLock({ $0.unwritten[key] }) {
            let start = MonotonicTime.now
            perform(change.response, key)
            let isDone = state.withLock { state in
                state.writing.spend(MonotonicTime.now - start)
                guard state.unwritten.finish(change, for: key) else { return false }
                state.lookups.noteWritten(change.response, for: key)
                return true
            }
            if isDone { return }
        }
    }

    private func perform(_ response: StoredResponse?, _ key: String) {
        guard let url = URL(string: key) else { return }
        let request = response?.request ?? URLRequest(url: url)
        // Replacing an entry would leave its key in the stock cache's list twice, and evicting that traps.
        cache.removeCachedResponse(for: request)
        guard let response else {
            for url in url.otherStockSpellings { cache.removeCachedResponse(for: URLRequest(url: url)) }
            return
        }
        cache.storeCachedResponse(response.stockCachedResponse, for: request)
    }
}

extension URL {
    /// The other spellings of a stored response's key that the stock cache takes for other URLs: with the scheme's own port, and without a
    /// path.
    fileprivate var otherStockSpellings: [URL] {
        guard let scheme = Scheme(self), scheme.isHTTP, let defaultPort = scheme.defaultPort,
            let own = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return [] }
        let ports = own.port == nil ? [nil, defaultPort] : [own.port]
        let paths = own.percentEncodedPath == "/" ? ["/", ""] : [own.percentEncodedPath]
        let all = ports.flatMap { port in
            paths.compactMap { path in
                var spelling = own
                spelling.port = port
                spelling.percentEncodedPath = path
                return spelling.url
            }
        }
        return Array(all.dropFirst())
    }
}

extension StockCacheStore.State {
    fileprivate mutating func beginEpoch(at now: MonotonicTime) {
        guard absent.beginEpoch(at: now) else { return }
        isEmpty = false
        hasCheckedEmptiness = false
    }

    /// Notes the result of a look-up. Returns true if the caller should check whether the cache is empty.
    fileprivate mutating func note(_ key: String, isPresent: Bool, isAlwaysAsked: Bool, maximumKeys: Int) -> Bool {
        if isPresent {
            if present.count >= maximumKeys { present.removeAll() }
            present.insert(key)
            return false
        }
        // What a subclass doesn't have now, it may have the next time.
        guard !isAlwaysAsked, unwritten[key] == nil, !present.contains(key) else { return false }
        absent.insert(key)
        defer { hasCheckedEmptiness = true }
        return !hasCheckedEmptiness && present.isEmpty
    }

    /// Returns true if the caller should schedule a write: otherwise an already scheduled one includes it.
    fileprivate mutating func enqueue(_ key: String, _ response: StoredResponse?, maximumKeys: Int) -> Bool {
        let starts = unwritten.add(response, cost: response?.data.count ?? 0, for: key)
        isEmpty = false
        absent.remove(key)
        if present.count >= maximumKeys { present.removeAll() }
        if response == nil { present.remove(key) } else { present.insert(key) }
        return starts
    }
}
