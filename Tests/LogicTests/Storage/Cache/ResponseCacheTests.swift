import CurlTransport
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A cache on disk")
struct ResponseCacheTests {
    private static let url = "http://example.com/a"

    private static func cache(
        _ directory: TemporaryDirectory,
        memory: Int = 1 << 20,
        disk: Int = 1 << 20
    ) -> ResponseCache {
        ResponseCache(memoryCapacity: memory, diskCapacity: disk, directoryPath: path(directory))
    }

    private static func path(_ directory: TemporaryDirectory) -> String {
        directory.url.appendingPathComponent("responses").path
    }

    private static func files(_ directory: TemporaryDirectory) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path(directory))) ?? []).map {
            path(directory) + "/" + $0
        }
    }

    /// What a process leaves that is killed while it writes a response.
    private static func temporary(_ url: String = url) -> String {
        "\(DiskCache.name(for: url)).\(UUID().uuidString)\(AtomicFile.Writers.manyWithLocks.temporarySuffix)"
    }

    /// Where files may have any length: not all file systems have longer ones than their disk.
    private static let memoryFiles = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
    private static var hasMemoryFiles: Bool { access(memoryFiles.path, W_OK) == 0 }

    private static func text(_ cache: ResponseCache, _ url: String = url) -> String? {
        cache.response(for: url).map { String(decoding: $0.data, as: UTF8.self) }
    }

    private static func store(_ text: String, _ cache: ResponseCache, _ url: String = url) throws {
        try cache.store(Sample.stored(text, at: url))
        cache.waitForWrites()
    }

    @Test("A stored response is found at once, even before it is written")
    func staged() throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory)
        for number in 1...100 {
            try cache.store(Sample.stored("\(number)", at: Self.url))
            #expect(Self.text(cache) == "\(number)")
            guard case .known(let found?) = cache.find(Self.url, now: .now, isInsistent: false) else {
                // It has been written already.
                continue
            }
            #expect(found.data == Data("\(number)".utf8))
        }
        cache.waitForWrites()
        #expect(Self.text(Self.cache(directory)) == "100")
        try cache.remove(Sample.url(Self.url + "#fragment"))
        #expect(Self.text(cache) == nil)
    }

    @Test("A program's data is released without a lock: its deallocator may use the cache")
    func deallocator() throws {
        let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
        let url = try Sample.url(Self.url)
        let released = Watched(0)
        for _ in 0..<2 {
            let data = Data.calling {
                released.update { $0 += 1 }
                _ = cache.currentMemoryUsage
            }
            let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 1000, textEncodingName: nil)
            cache.storeCachedResponse(CachedURLResponse(response: response, data: data), for: URLRequest(url: url))
        }
        cache.removeAllCachedResponses()
        #expect(released.value == 2)
    }

    @Test("Another process finds a stored response by its name, without going through the directory")
    func otherProcess() throws {
        let directory = try TemporaryDirectory()
        let first = Self.cache(directory)
        for number in 1...50 { try Self.store("\(number)", first, Self.url + "?\(number)") }
        // Going through the directory would remove it.
        let litter = Self.path(directory) + "/" + Self.temporary()
        try Data().write(to: URL(fileURLWithPath: litter))
        let second = Self.cache(directory)
        for number in 1...50 { #expect(Self.text(second, Self.url + "?\(number)") == "\(number)") }
        #expect(Self.text(second, Self.url + "?51") == nil)
        #expect(FileManager.default.fileExists(atPath: litter))
        try Self.store("52", second, Self.url + "?52")
        #expect(!FileManager.default.fileExists(atPath: litter))
    }

    @Test("A response that another process replaces or removes is not served from memory")
    func coherence() throws {
        let directory = try TemporaryDirectory()
        let (first, second) = (Self.cache(directory), Self.cache(directory))
        try Self.store("1", first)
        #expect(Self.text(second) == "1")
        try Self.store("2", first)
        #expect(Self.text(second) == "2")
        try Self.store("3", second)
        #expect(Self.text(first) == "3")
        try first.remove(Sample.url(Self.url))
        first.waitForWrites()
        #expect(Self.text(second) == nil)
        try Self.store("4", second)
        first.removeAll()
        #expect(Self.text(second) == nil)
    }

    @Test("Two processes that write and read the same URLs at once read what one of them wrote")
    func contention() async throws {
        let directory = try TemporaryDirectory()
        let caches = [Self.cache(directory, memory: 0), Self.cache(directory)]
        await withTaskGroup(of: Void.self) { group in
            for (index, cache) in caches.enumerated() {
                group.addTask {
                    for number in 0..<300 {
                        let url = Self.url + "?\(number % 7)"
                        if number % 13 == index { cache.removeAll() }
                        let response = try? Sample.stored(
                            "\(number % 7) " + String(repeating: "x", count: number),
                            at: url
                        )
                        if let response { cache.store(response) }
                        if number % 5 == 0 { cache.waitForWrites() }
                        let found = cache.response(for: url)
                        #expect(found == nil || found?.data.first == UInt8(ascii: "0") + UInt8(number % 7))
                    }
                }
            }
        }
        for cache in caches { cache.waitForWrites() }
        #expect(Self.files(directory).allSatisfy { !$0.hasSuffix(".tmp") })
    }

    @Test("Files are 0600 in a directory that is 0700")
    func permissions() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: Self.path(directory),
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
        try Self.store("x", Self.cache(directory))
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(Self.path(directory)) == 0o700)
        #expect(Self.files(directory).count == 1)
        #expect(try mode(#require(Self.files(directory).first)) == 0o600)
    }

    @Test(
        "A file that isn't a sound one of this cache's is a miss, and gone",
        arguments: ["empty", "cut", "longer", "changed", "readable by others", "a link", "another's"]
    )
    func damaged(how: String) throws {
        let directory = try TemporaryDirectory()
        try Self.store("body", Self.cache(directory))
        let file = URL(fileURLWithPath: try #require(Self.files(directory).first))
        let content = try Data(contentsOf: file)
        switch how {
        case "empty": try Data().write(to: file)
        case "cut": try content.dropLast().write(to: file)
        case "longer": try (content + [0]).write(to: file)
        case "changed": try (content.dropLast() + [0]).write(to: file)
        case "a link":
            let target = try directory.file("target", content)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target.path)
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target)
        case "another's":
            try Self.store("other", Self.cache(directory), Self.url + "b")
            let other = try #require(Self.files(directory).first { $0 != file.path })
            try Data(contentsOf: URL(fileURLWithPath: other)).write(to: file)
        default: break
        }
        if how != "a link" {
            let mode = how == "readable by others" ? 0o644 : 0o600
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        }
        #expect(Self.text(Self.cache(directory)) == nil)
        #expect(!Self.files(directory).contains(file.path))
    }

    @Test(
        "A file with a description or a body for which there is no memory is a miss, and gone",
        .enabled(if: hasMemoryFiles && !ProcessUsage.isSanitized, "a sanitizer ends the process"),
        arguments: [[1 << 62, 0], [1, 1 << 62]] as [[UInt64]]
    )
    func endlessParts(lengths: [UInt64]) throws {
        let directory = try TemporaryDirectory(in: Self.memoryFiles)
        try Self.store("body", Self.cache(directory))
        let file = URL(fileURLWithPath: try #require(Self.files(directory).first))
        var content = try Data(contentsOf: file)
        // They follow the format and the checksum.
        let written = lengths.flatMap { length in withUnsafeBytes(of: length.littleEndian) { Array($0) } }
        content.replaceSubrange(16..<32, with: written)
        try content.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        try #require(truncate(file.path, 32 + Int(lengths[0] + lengths[1])) == 0)
        #expect(Self.text(Self.cache(directory, disk: .max)) == nil)
        #expect(Self.files(directory).isEmpty)
    }

    @Test("Files that are not the cache's stay, also when everything is removed")
    func foreignFiles() throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory)
        try Self.store("x", cache)
        let names = [
            "notes.txt", "x.tmp", "x." + UUID().uuidString + ".tmp", DiskCache.name(for: Self.url) + ".tmp",
            DiskCache.name(for: Self.url) + ".x.tmp", Self.temporary() + ".tmp", "x" + Self.temporary(),
        ]
        let foreign = names.map { Self.path(directory) + "/" + $0 }
        for path in foreign + [Self.path(directory) + "/" + Self.temporary()] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        }
        cache.removeAll()
        #expect(Self.files(directory).sorted() == foreign.sorted())
    }

    @Test("If the directory is a link, the files behind it stay")
    func linkedDirectory() throws {
        let directory = try TemporaryDirectory()
        let elsewhere = directory.url.appendingPathComponent("elsewhere")
        try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
        for name in [Self.temporary(), String(repeating: "a", count: 64)] {
            try Data("x".utf8).write(to: elsewhere.appendingPathComponent(name))
        }
        let link = URL(fileURLWithPath: Self.path(directory))
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: elsewhere)
        let cache = Self.cache(directory)
        try Self.store("x", cache)
        cache.removeAll()
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).count == 2)
    }

    @Test("The directory may go at any time, and comes back with the next response")
    func directoryGone() throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory)
        try Self.store("x", cache)
        try FileManager.default.removeItem(atPath: Self.path(directory))
        #expect(Self.text(cache) == nil)
        try Self.store("y", cache)
        #expect(Self.text(Self.cache(directory)) == "y")
    }

    @Test("If there can be no directory, memory serves")
    func noDirectory() throws {
        let cache = ResponseCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, directoryPath: "/dev/null/none")
        try Self.store("x", cache)
        #expect(Self.text(cache) == "x")
        #expect(cache.diskUsage == 0)
    }

    /// More than may wait to be written.
    private static func large(_ name: String) throws -> StoredResponse {
        try Sample.stored(String(repeating: "x", count: 9 << 20), at: url + "?\(name)")
    }

    /// Once a large response is written, the write queue waits for the gate.
    private static func holdWrites(_ cache: ResponseCache) throws -> Gate {
        let gate = Gate()
        let isCrowded = cache.store(try large("large")) { gate.waitBlocking() }
        #expect(isCrowded)
        return gate
    }

    @Test("A response that is removed while newer ones are being removed doesn't come back", .timeLimit(.minutes(1)))
    func removedMeanwhile() async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory, disk: 1 << 30)
        try Self.store("old", cache)
        let date = Date()
        let gate = try Self.holdWrites(cache)
        let pending = cache.pendingResponses.begin(Self.url + "?pending")
        let hasRemoved = Gate()
        Thread {
            cache.removeAll(since: date)
            hasRemoved.open()
        }
        .start()
        // The removal has begun, and waits for the write queue.
        try await eventually { pending.store { true } == nil }
        try cache.remove(Sample.url(Self.url))
        gate.open()
        try await hasRemoved.wait()
        #expect(Self.text(cache) == nil)
        cache.waitForWrites()
        #expect(Self.text(cache) == nil)
        #expect(Self.files(directory).isEmpty)
    }

    // MARK: - Room

    @Test("The response that was used longest ago goes first, also if another process has used it")
    func eviction() throws {
        let directory = try TemporaryDirectory()
        let block = 4096
        let first = Self.cache(directory, memory: 0, disk: 16 * block)
        for number in 1...16 { try Self.store("\(number)", first, Self.url + "?\(number)") }
        #expect(first.diskUsage == 16 * block)
        let second = Self.cache(directory, memory: 0, disk: 16 * block)
        #expect(Self.text(second, Self.url + "?1") == "1")
        try Self.store("17", first, Self.url + "?17")
        #expect(first.diskUsage <= 16 * block)
        #expect(Self.text(first, Self.url + "?1") == "1")
        #expect(Self.text(first, Self.url + "?2") == nil)
        #expect(Self.text(first, Self.url + "?17") == "17")
    }

    @Test("However much is stored, and by however many caches, the disk's part stays near its capacity")
    func bounded() throws {
        let directory = try TemporaryDirectory()
        let caches = (0..<3).map { _ in Self.cache(directory, memory: 0, disk: 64 * 4096) }
        for number in 0..<600 { try Self.store("x", caches[number % 3], Self.url + "?\(number)") }
        #expect(caches[0].diskUsage <= 64 * 4096 + 3 * 5 * 4096)
    }

    @Test("Files of any length in the directory are counted, and make room, without overflowing")
    func endless() throws {
        let directory = try Self.hasMemoryFiles ? TemporaryDirectory(in: Self.memoryFiles) : TemporaryDirectory()
        let cache = Self.cache(directory, memory: 0)
        try Self.store("x", cache)
        for digit in ["a", "b", "c"] {
            let file = Self.path(directory) + "/" + String(repeating: digit, count: 64)
            try Data().write(to: URL(fileURLWithPath: file))
            for bits in stride(from: 63, to: 40, by: -1) where truncate(file, Int.max >> (63 - bits)) == 0 { break }
        }
        #expect(cache.diskUsage > 1 << 40)
        try Self.store("y", cache, Self.url + "?y")
        for _ in 0..<3 { cache.diskCapacity -= 1 }
        #expect(cache.diskUsage <= 1 << 20)
    }

    @Test("A program may store a response that takes up all of the disk's part, and finds it in its next process")
    func full() throws {
        let directory = try TemporaryDirectory()
        let body = String(repeating: "x", count: 1 << 20 - 8192)
        try Self.store(body, Self.cache(directory))
        #expect(Self.text(Self.cache(directory)) == body)
    }

    @Test("A response that is larger than the disk's part is in memory alone, and replaces the one on disk")
    func tooLarge() throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory, disk: 8192)
        try Self.store("small", cache)
        try Self.store(String(repeating: "x", count: 10_000), cache)
        #expect(Self.text(cache)?.count == 10_000)
        #expect(Self.text(Self.cache(directory)) == nil)
    }

    @Test("A response that is for memory alone is not written, and replaces the one on disk")
    func memoryOnly() throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory)
        try Self.store("on disk", cache)
        try cache.store(Sample.stored("in memory", at: Self.url, policy: .allowedInMemoryOnly))
        cache.waitForWrites()
        #expect(Self.text(cache) == "in memory")
        #expect(Self.files(directory).isEmpty)
    }

    @Test("Smaller capacities take effect at once")
    func capacities() throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory)
        for number in 1...20 { try Self.store("\(number)", cache, Self.url + "?\(number)") }
        #expect(cache.memoryUsage > 0)
        cache.memoryCapacity = 0
        #expect(cache.memoryUsage == 0)
        #expect(Self.text(cache, Self.url + "?20") == "20")
        cache.diskCapacity = 4 * 4096
        #expect(cache.diskUsage <= 4 * 4096)
        cache.diskCapacity = 0
        #expect(Self.files(directory).isEmpty)
        #expect(Self.text(cache, Self.url + "?20") == nil)
        cache.diskCapacity = -1
        cache.memoryCapacity = .min
        try Self.store("x", cache)
        #expect(Self.text(cache) == nil)
    }

    // MARK: - Sessions

    @Test("A response that wasn't found isn't looked for again for a second, unless a task relies on it or it comes")
    func absent() async throws {
        let directory = try TemporaryDirectory()
        // Before the cache begins to count its seconds: so it is asked, however long the test takes.
        let start = MonotonicTime.now
        let cache = Self.cache(directory)
        func isKnown(after time: Duration? = nil, isInsistent: Bool = false) -> Bool {
            let now = time.map { .now + $0 } ?? start
            if case .known = cache.find(Self.url, now: now, isInsistent: isInsistent) { return true }
            return false
        }
        let request = URLRequest(url: try Sample.url(Self.url))
        #expect(!isKnown())
        let found = await withCheckedContinuation { continuation in
            cache.lookUp(Self.url, for: request) { continuation.resume(returning: $0) }
        }
        #expect(found == nil)
        #expect(isKnown())
        #expect(!isKnown(isInsistent: true))
        #expect(!isKnown(after: .seconds(2)))
        try Self.store("x", cache)
        #expect(!isKnown())
    }

    @Test("A cache in memory alone is never waited for")
    func memory() throws {
        let cache = ResponseCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, directoryPath: nil)
        #expect(cache.store(try Sample.stored("x", at: Self.url)) {} == false)
        guard case .known(let found) = cache.find(Self.url, now: .now, isInsistent: true) else {
            Issue.record("it has to be looked for")
            return
        }
        #expect(found?.data == Data("x".utf8))
    }

    @Test("A caller that stores more than can be written waits, and no other does")
    func backPressure() async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory, memory: 0, disk: 100 << 20)
        let body = String(repeating: "x", count: 1 << 20)
        let responses = try (0..<24).map { try Sample.stored(body, at: Self.url + "?\($0)") }
        let done = Counter()
        let waits = responses.count { cache.store($0) { _ = done.next() } }
        #expect(waits > 0)
        cache.waitForWrites()
        #expect(done.next() == waits + 1)
        for number in 0..<24 { #expect(Self.text(cache, Self.url + "?\(number)") == body) }
    }

    @Test(
        "A response that comes while 32 MiB wait is left out, and the one that it would replace is removed",
        arguments: [true, false]
    )
    func tooMuch(mayWait: Bool) throws {
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory, memory: 0, disk: 1 << 30)
        try Self.store("old", cache)
        cache.waitForWrites()
        let gate = try Self.holdWrites(cache)
        for number in 0..<5 { cache.store(try Self.large("\(number)")) }
        let last = try Sample.stored("new", at: Self.url)
        if mayWait { #expect(!cache.store(last) { Issue.record("nothing to wait for") }) } else { cache.store(last) }
        gate.open()
        cache.waitForWrites()
        #expect(Self.text(cache) == nil)
        #expect(Self.text(cache, Self.url + "?0") != nil)
    }
}
