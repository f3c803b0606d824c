import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A cache whose disk doesn't answer", .timeLimit(.minutes(1)))
struct SlowDiskTests {
    @Test("A response that is complete is delivered all the same, and its host has room for others meanwhile")
    func stuck() async throws {
        let directory = try TemporaryDirectory()
        let cache = CurlURLCache(memoryCapacity: 0, diskCapacity: 1 << 30, diskPath: directory.url.path)
        let server = try LoopbackServer { .text($0.path).header("Cache-Control", "max-age=1000") }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = cache
            $0.httpMaximumConnectionsPerHost = 1
        }
        defer { session.invalidateAndCancel() }
        let gate = Gate()
        defer { gate.open() }
        // The first is written, and then the queue waits for the gate; the second waits to be written, and is more than may.
        for number in 0..<2 {
            let large = try Sample.stored(String(repeating: "x", count: 9 << 20), at: "http://example.com/\(number)")
            #expect(cache.responses.store(large) { gate.waitBlocking() })
        }
        let loads = ["/a", "/b", "/c"].map { path in Task { await session.load(server.url(path)).text } }
        try await server.waitForRequests(3)
        for (load, path) in zip(loads, ["/a", "/b", "/c"]) { #expect(await load.value == path) }
    }
}
