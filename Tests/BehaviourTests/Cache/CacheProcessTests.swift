import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A cache that several processes use", .timeLimit(.minutes(3)))
struct CacheProcessTests {
    private static func cache(_ directory: TemporaryDirectory) -> CurlURLCache {
        CurlURLCache(memoryCapacity: 0, diskCapacity: 64 << 20, diskPath: directory.url.path)
    }

    @Test(
        "Everything that one process has loaded, another gets without asking the server",
        arguments: [(1000, 1), (100, 100)]
    )
    func secondProcess(count: Int, kibibytes: Int) async throws {
        let body = String(repeating: "x", count: kibibytes << 10)
        let directory = try TemporaryDirectory()
        let cache = Self.cache(directory)
        let rig = try Rig { _ in
            .text(body).headers(["Cache-Control": "max-age=1000"])
        } configure: {
            $0.urlCache = cache
        }
        defer { rig.stop() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= 8 { await group.next() }
                let url = rig.url("/?\(number)")
                group.addTask {
                    #expect(await rig.session.load(url).text == body)
                    // Nothing has been waited for.
                    #expect(cache.cachedResponse(for: URLRequest(url: url))?.data.count == body.utf8.count)
                }
            }
        }
        #expect(rig.server.requestCount == count)
        await rig.session.flush()
        let helper = try TestHelper.start("cached", directory.url.path, rig.url("/?").absoluteString, "\(count)")
        let words = await helper.line()?.split(separator: " ") ?? []
        #expect(words.prefix(2) == ["\(count)", "\(count * body.utf8.count)"])
        #expect(rig.server.requestCount == count)
    }

    @Test("An answer from another process's files costs less CPU than one from the network")
    func cost() async throws {
        let body = String(repeating: "x", count: 1 << 10)
        let server = try LoopbackServer { _ in .text(body).headers(["Cache-Control": "max-age=1000"]) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        var costs: [Int] = []
        for _ in 1...2 {
            let helper = try TestHelper.start("cached", directory.url.path, server.url("/?").absoluteString, "1000")
            let words = await helper.line()?.split(separator: " ") ?? []
            #expect(words.first == "1000")
            try costs.append(#require(words.last.flatMap { Int($0) }))
        }
        #expect(server.requestCount == 1000)
        #expect(costs[1] < costs[0], "in microseconds each")
    }

    @Test("Without a path, the files are in the user's cache directory, under the program's name")
    func defaultDirectory() async throws {
        let server = try LoopbackServer { _ in .text("hello").headers(["Cache-Control": "max-age=1000"]) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let helper = try ChildProcess(
            [TestHelper.path(), "cached", "-", server.url("/?").absoluteString, "1"],
            environment: ["XDG_CACHE_HOME": directory.url.path]
        )
        #expect(await helper.line()?.hasPrefix("1 5 ") == true)
        let own = directory.allFiles.filter { $0.hasPrefix("CurlNetworking/test-helper/responses-2/") }
        // Its name is a SHA-256.
        #expect(own.count == 1 && own.first?.split(separator: "/").last?.count == 64)
    }

    @Test("A process that is killed while it writes leaves no torn response, at each of 100 moments")
    func kills() async throws {
        var generator = SystemRandomNumberGenerator()
        let directory = try TemporaryDirectory()
        var found = 0
        for number in 0..<100 {
            let helper = try TestHelper.start("fill", directory.url.path)
            for _ in 0...Int.random(in: 0...(number % 10 == 0 ? 60 : 6), using: &generator) { _ = await helper.line() }
            helper.kill()
            #expect(await helper.ending() == .signal(SIGKILL))
            let cache = Self.cache(directory)
            for path in 0..<40 {
                let url = try #require(URL(string: "http://example.com/\(path)"))
                guard let cached = cache.cachedResponse(for: URLRequest(url: url)) else { continue }
                found += 1
                let text = String(decoding: cached.data, as: UTF8.self)
                let piece = url.absoluteString + "\n"
                #expect(text == String(repeating: piece, count: text.utf8.count / piece.utf8.count))
                #expect(cached.response.expectedContentLength == cached.data.count)
            }
            // What it left behind goes at the next count, and isn't counted.
            #expect(cache.currentDiskUsage <= cache.diskCapacity)
            #expect(!directory.allFiles.contains { $0.hasSuffix(".tmp") })
        }
        #expect(found > 100)
    }
}

extension TemporaryDirectory {
    fileprivate var allFiles: [String] {
        FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
    }
}
