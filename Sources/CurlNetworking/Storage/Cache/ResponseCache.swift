import CurlTransport
import Foundation
import CurlNetworkingLocks

/// A cache of responses in memory and on disk, for sessions and for programs.
///
/// A stored response is found at once, and written soon, on the cache's own queue. Processes share what is on disk: a response in memory is
/// valid only while its file is unchanged. There is one response for each URL; callers decide which requests it answers.
final class ResponseCache: CacheStore {
    fileprivate struct Kept {
        let response: StoredResponse
        /// nil if it is only in memory.
        let file: CacheDirectory.FileIdentity?
        let date: Date
    }

    fileprivate struct State {
        var kept: LeastRecentlyUsed<Kept>
        var diskCapacity: Int
        var unwritten = UnwrittenResponses()
        var lookups = CacheLookups()
        var absent = AbsentKeys()
    }

    let revalidations = Revalidations()
    let pendingResponses = PendingResponses()
    private let state: Mutex<State>
    /// nil for a cache in memory only.
    private let directory: CacheDirectory?
    /// Used on the write queue.
    private let disk: DiskCache?
    private let readQueue = DispatchQueue(label: "CurlNetworking.cache.read", qos: .utility)
    private let writeQueue = DispatchQueue(label: "CurlNetworking.cache.write", qos: .utility)

    /// While more than this waits to be written, callers that store something wait.
    private static let softLimit = (responses: 256, bytes: 8 << 20)

    /// - Parameter directoryPath: The directory for the files; nil for a cache in memory only.
    init(memoryCapacity: Int, diskCapacity: Int, directoryPath: String?) {
        let directory = directoryPath.map(CacheDirectory.init)
        self.directory = directory
        disk = directory.map(DiskCache.init)
        state = Mutex(
            State(kept: LeastRecentlyUsed(capacity: max(0, memoryCapacity)), diskCapacity: max(0, diskCapacity))
        )
    }

    // MARK: - Capacities

    var memoryCapacity: Int {
        get { state.withLock { $0.kept.capacity } }
        set { state.withLock { $0.kept.capacity = max(0, newValue) } }
    }

    /// Setting a smaller value blocks.
    var diskCapacity: Int {
        get { state.withLock { $0.diskCapacity } }
        set {
            let old = state.withLock { state in
                defer { state.diskCapacity = max(0, newValue) }
                return state.diskCapacity
            }
            guard newValue < old else { return }
            onDisk { $0.makeRoom(capacity: max(0, newValue)) }
        }
    }

    var memoryUsage: Int { state.withLock { $0.kept.totalCost } }

    /// Waits for writes, and lists the directory. Blocks.
    var diskUsage: Int {
        var usage = 0
        onDisk { usage = $0.count() }
        return usage
    }

    var sizeLimit: Int {
        let (memory, disk) = state.withLock { ($0.kept.capacity, $0.diskCapacity) }
        return CacheStorability.sizeLimit(memoryCapacity: memory, diskCapacity: directory == nil ? 0 : disk)
    }

    /// Runs `body` after all writes so far. Blocks.
    private func onDisk(_ body: (DiskCache) -> Void) {
        guard let disk else { return }
        writeQueue.sync { body(disk) }
    }

    // MARK: - Reading

    func find(_ key: String, now: MonotonicTime, isInsistent: Bool) -> CacheFinding {
        state.withLock { state in
            if let change = state.unwritten[key] { return .known(change.response) }
            guard usesDisk(state.diskCapacity) else { return .known(state.kept.use(key)?.response) }
            if isInsistent { return .unknown }
            _ = state.absent.beginEpoch(at: now)
            return state.absent.contains(key) ? .known(nil) : .unknown
        }
    }

    func lookUp(_ key: String, for request: URLRequest, completion: @escaping @Sendable (StoredResponse?) -> Void) {
        let starts = state.withLock { $0.lookups.add(completion, for: key) }
        if starts { readQueue.async { self.lookUp(key) } }
    }

    /// On the read queue.
    private func lookUp(_ key: String) {
        let found = response(for: key)
        let (response, completions) = state.withLock { state in
            let lookup = state.lookups.end(key, found: found)
            let response = state.unwritten[key].map(\.response) ?? lookup.response
            if response == nil { state.absent.insert(key) }
            return (response, lookup.completions)
        }
        for completion in completions { completion(response) }
    }

    /// The response stored for `key`. Blocks: not on a loop.
    func response(for key: String) -> StoredResponse? {
        enum Found {
            case answer(StoredResponse?)
            case kept(Kept)
            case nothing
        }
        let found = state.withLock { state -> Found in
            if let change = state.unwritten[key] { return .answer(change.response) }
            guard let kept = state.kept.use(key) else { return .nothing }
            return kept.file == nil ? .answer(kept.response) : .kept(kept)
        }
        if case .answer(let response) = found { return response }
        guard let directory, usesDisk(diskCapacity) else { return nil }
        let name = DiskCache.name(for: key)
        if case .kept(let kept) = found, directory.identity(of: name) == kept.file {
            directory.touch(name)
            return kept.response
        }
        return read(key, name, from: directory)
    }

    private func read(_ key: String, _ name: String, from directory: CacheDirectory) -> StoredResponse? {
        switch directory.read(name, sizeLimit: diskCapacity) {
        case .none:
            state.withLock { $0.kept.remove(key) }
            return nil
        case .damaged:
            discard(key, name, from: directory)
            return nil
        case .entry(let header, let description, let body, let identity):
            let response = description.withUnsafeBytes {
                CacheFile.response(for: key, header: header, description: $0, body: body)
            }
            guard let response else {
                discard(key, name, from: directory)
                return nil
            }
            directory.touch(name)
            let kept = Kept(response: response, file: identity, date: Date())
            state.withLock { $0.kept.insert(kept, for: key, cost: response.cost) }
            return response
        }
    }

    private func discard(_ key: String, _ name: String, from directory: CacheDirectory) {
        directory.remove(name)
        state.withLock { $0.kept.remove(key) }
    }

    private func usesDisk(_ diskCapacity: Int) -> Bool { directory != nil && diskCapacity > 0 }

    // MARK: - Writing

    func store(_ response: StoredResponse, orWait completion: @escaping @Sendable () -> Void) -> Bool {
        guard stageIfThereIsRoom(response) else { return false }
        writeQueue.async(execute: completion)
        return true
    }

    func store(_ response: StoredResponse) {
        _ = stageIfThereIsRoom(response)
    }

    /// Drops the response, and what it would replace, if far too much waits to be written: some callers can't wait, and none waits long.
    /// Returns true if this one should.
    private func stageIfThereIsRoom(_ response: StoredResponse) -> Bool {
        let isTooMuch = state.withLock { state in
            state.unwritten.count > 4 * Self.softLimit.responses || state.unwritten.totalCost > 4 * Self.softLimit.bytes
        }
        return stage(response.key, isTooMuch ? nil : response) && !isTooMuch
    }

    /// Stores `response`, and returns when it is written. Blocks.
    func storeAndWait(_ response: StoredResponse) {
        _ = stage(response.key, response)
        waitForWrites()
    }

    func remove(_ url: URL) {
        let key = StoredResponse.key(of: url)
        pendingResponses.outdate(key)
        _ = stage(key, nil)
    }

    /// Makes `response` (nil for none) the one found for `key`. Returns true if so much waits to be written that the caller should wait.
    private func stage(_ key: String, _ response: StoredResponse?) -> Bool {
        let (starts, isOverLimit) = state.withLock { state -> (Bool, Bool) in
            guard usesDisk(state.diskCapacity) else {
                state.keep(response, for: key, file: nil)
                state.lookups.noteWritten(response, for: key)
                return (false, false)
            }
            let starts = state.unwritten.add(response, cost: response?.cost ?? 0, for: key)
            state.absent.remove(key)
            let isOverLimit =
                state.unwritten.count > Self.softLimit.responses || state.unwritten.totalCost > Self.softLimit.bytes
            return (starts, isOverLimit)
        }
        if starts { writeQueue.async { self.write(key) } }
        return isOverLimit
    }

    /// Writes whatever is unwritten for `key` by now. On the write queue.
    private func write(_ key: String) {
        guard let disk else { return }
        while let (change, capacity) = state.withLock({ state in
            state.unwritten[key].map { ($0, state.diskCapacity) }
        }) {
            var file: CacheDirectory.FileIdentity?
            if let response = change.response, response.storagePolicy == .allowed {
                file = disk.store(response, capacity: capacity)
            } else {
                disk.remove(key)
            }
            let isDone = state.withLock { state in
                guard state.unwritten.finish(change, for: key) else { return false }
                state.lookups.noteWritten(change.response, for: key)
                // A response that doesn't fit on disk is kept in memory.
                state.keep(change.response, for: key, file: file)
                return true
            }
            if isDone { return }
        }
    }

    func removeAll() { removeAll(since: .distantPast) }

    /// Removes what was stored after `date`. Blocks.
    func removeAll(since date: Date) {
        pendingResponses.outdateAll()
        writeQueue.sync {
            state.withLock { state in
                // Where files are left, those of the same keys are older: the scheduled writes remove them.
                if date == .distantPast {
                    state.unwritten.removeAll()
                } else {
                    state.unwritten.replaceAllWithRemovals()
                }
                for key in Array(state.kept.keys) where state.kept.peek(key).map({ $0.date > date }) ?? false {
                    state.kept.remove(key)
                }
                state.lookups.noteRemovalOfAll()
            }
            disk?.removeAll(since: date)
        }
    }

    func waitForWrites() {
        writeQueue.sync {}
    }
}

extension ResponseCache.State {
    /// Keeps `response` in memory; nil removes it.
    fileprivate mutating func keep(_ response: StoredResponse?, for key: String, file: CacheDirectory.FileIdentity?) {
        guard var response, response.storagePolicy != .notAllowed else { return kept.remove(key) }
        response.request = nil
        kept.insert(.init(response: response, file: file, date: Date()), for: key, cost: response.cost)
    }
}

extension StoredResponse {
    /// How much memory it uses, in bytes, approximately.
    var cost: Int {
        512 + data.count + key.utf8.count + userInfo.count + 64 * head.fields.count + head.fields.byteCount
    }
}
