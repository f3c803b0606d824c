import Foundation

/// The part of a cache that is on disk: responses by key, up to a total size. The least recently used are removed first.
///
/// An entry's file is found by its key. The directory is listed only to count its size: after the first write, and whenever a sixteenth of
/// the capacity has been written. Other processes' writes aren't counted in between. Every call may block.
///
/// `@unchecked Sendable`: used by one thread at a time, on its owner's write queue.
final class DiskCache: @unchecked Sendable {
    private let directory: CacheDirectory
    /// nil before the first count.
    private var usage: Usage?

    private struct Usage {
        var bytes: Int
        var writtenSinceCount = 0

        mutating func add(_ growth: Int) { bytes = bytes.addingClamped(growth) }
    }

    init(_ directory: CacheDirectory) {
        self.directory = directory
    }

    /// The name of the file for `key`.
    static func name(for key: String) -> String { SHA256.digest(of: key.utf8) }

    /// Writes `response`. Returns nil if it doesn't fit or couldn't be written: then nothing is stored for its key.
    func store(_ response: StoredResponse, capacity: Int) -> CacheDirectory.FileIdentity? {
        let name = Self.name(for: response.key)
        let head = CacheFile.head(of: response)
        let size = CacheDirectory.room(for: head.count + response.data.count)
        guard size <= capacity, let written = directory.write(name, head: head, body: response.data) else {
            remove(response.key)
            return nil
        }
        usage?.add(written.growth)
        usage?.writtenSinceCount += size
        if usage.map({ $0.bytes > capacity || $0.writtenSinceCount > capacity / 16 }) ?? true {
            makeRoom(capacity: capacity)
        }
        return written.identity
    }

    func remove(_ key: String) {
        let freed = directory.remove(Self.name(for: key))
        usage?.add(-freed)
    }

    /// Removes what was written after `date`.
    func removeAll(since date: Date) {
        for item in directory.list() where item.written > date { directory.remove(item.name) }
        usage = nil
    }

    /// Counts the space used, in bytes.
    func count() -> Int {
        let bytes = Self.size(of: directory.list())
        usage = Usage(bytes: bytes)
        return bytes
    }

    /// Counts the space used. If it is more than `capacity`, removes enough that the next count isn't due at once.
    func makeRoom(capacity: Int) {
        let items = directory.list()
        var bytes = Self.size(of: items)
        if bytes > capacity {
            let aim = capacity - capacity / 16
            // The clock was ahead then: for a long time, nothing else would count as used later.
            let latest = Date(timeIntervalSinceNow: 60)
            let used = { (item: CacheDirectory.Item) in item.used > latest ? .distantPast : item.used }
            for item in items.sorted(by: { used($0) < used($1) }) {
                guard bytes > aim else { break }
                directory.remove(item.name)
                bytes -= item.size
            }
        }
        usage = Usage(bytes: bytes)
    }

    /// Another program may have put files of any length there: sparse ones need no space.
    private static func size(of items: [CacheDirectory.Item]) -> Int {
        items.reduce(0) { $0.addingClamped($1.size) }
    }
}
