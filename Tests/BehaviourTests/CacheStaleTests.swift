import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Stale responses that are good enough", .timeLimit(.minutes(1)))
struct CacheStaleTests {
    @Test("stale-if-error holds without a validator as well", arguments: [500, 502, 503, 504, 404])
    func staleIfError(status: Int) async throws {
        let count = Counter()
        let server = try LoopbackServer { _ in
            count.next() == 1
                ? .text("body").header("Cache-Control", "max-age=0, stale-if-error=1000")
                : .text("trouble", status: status)
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "body")
        #expect(await session.load(server.url("/")).text == (status == 404 ? "trouble" : "body"))
        #expect(server.requestCount == 2)
    }

    @Test("And where the server can't be reached")
    func unreachable() async throws {
        let server = try LoopbackServer { _ in .text("body").header("Cache-Control", "max-age=0, stale-if-error=1000") }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        _ = await session.load(url)
        server.stop()
        let result = await session.load(url)
        #expect(result.text == "body")
        #expect(result.response?.value(forHTTPHeaderField: "Age") != nil)
    }
}
