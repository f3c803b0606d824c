import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Fields of stored responses", .timeLimit(.minutes(1)))
struct CacheFieldTests {
    @Test(
        "An Expires that is no date of HTTP is in the past",
        arguments: [
            "0", "-1", "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050  02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 50 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:18", "2050-08-18T02:01:18Z",
        ]
    )
    func badExpires(text: String) async throws {
        #expect(try await Self.requestCount(expires: text) == 2)
    }

    @Test(
        "An Expires in any of HTTP's formats, and in any case, counts",
        arguments: [
            "Thu, 18 Aug 2050 02:01:18 GMT", "THU, 18 aug 2050 02:01:18 gmt", "Thursday, 18-Aug-50 02:01:18 GMT",
            "Thu Aug 18 02:01:18 2050",
        ]
    )
    func expires(text: String) async throws {
        #expect(try await Self.requestCount(expires: text) == 1)
    }

    private static func requestCount(expires: String) async throws -> Int {
        let rig = try Rig { _ in .text("body").header("Expires", expires) }
        defer { rig.stop() }
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "body") }
        return rig.server.requestCount
    }

    @Test("A session whose fields forbid it stores nothing, and one whose fields want it asks each time")
    func additionalFields() async throws {
        for control in ["no-store", "no-cache"] {
            let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
            let rig = try Rig { _ in
                .text("body").header("Cache-Control", "max-age=1000")
            } configure: {
                $0.urlCache = cache
                $0.httpAdditionalHeaders = ["cache-control": control]
            }
            defer { rig.stop() }
            for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "body") }
            #expect(rig.server.requestCount == 2)
            #expect((cache.cachedResponse(for: URLRequest(url: rig.url("/"))) == nil) == (control == "no-store"))
        }
    }

    @Test("A session whose fields ask for another protocol, or set a condition or a range, asks each time")
    func additionalRequests() async throws {
        for (name, value) in [("upgrade", "echo"), ("If-None-Match", "\"a\""), ("Range", "lines=1-2")] {
            let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
            let rig = try Rig { _ in
                .text("body").header("Cache-Control", "max-age=1000")
            } configure: {
                $0.urlCache = cache
            }
            defer { rig.stop() }
            let other = URLSession.forTest {
                $0.urlCache = cache
                $0.httpAdditionalHeaders = [name: value]
            }
            defer { other.invalidateAndCancel() }
            for session in [rig.session, rig.session, other, other] {
                #expect(await session.load(rig.url("/")).text == "body")
            }
            #expect(rig.server.requestCount == 3, "\(name)")
        }
    }

    @Test("Fields of one connection, and those that Connection lists, are delivered and not stored")
    func connection() async throws {
        let rig = try Rig { _ in
            .raw([
                .bytes(
                    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=1000\r\nConnection: keep-alive, X-Hop\r\n"
                        + "x-hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nX-Own: 1\r\n\r\nbody"
                )
            ])
        }
        defer { rig.stop() }
        let first = try #require(await rig.session.load(rig.url("/")).response)
        let second = try #require(await rig.session.load(rig.url("/")).response)
        #expect(rig.server.requestCount == 1)
        for name in ["X-Hop", "Keep-Alive", "Proxy-Authenticate", "Connection"] {
            #expect(first.value(forHTTPHeaderField: name) != nil, "\(name)")
            #expect(second.value(forHTTPHeaderField: name) == nil, "\(name)")
        }
        #expect(second.value(forHTTPHeaderField: "X-Own") == "1")
    }

    @Test("A response that the server wasn't asked about carries its age")
    func age() async throws {
        let rig = try Rig { request in
            request.header("If-None-Match") == nil
                ? .text("body").headers(["Cache-Control": "max-age=1000", "Age": "500", "ETag": "\"a\""])
                : .status(304).header("Cache-Control", "max-age=1000")
        }
        defer { rig.stop() }
        func age(_ policy: URLRequest.CachePolicy = .useProtocolCachePolicy) async -> Int? {
            let response = await rig.session.load(URLRequest(url: rig.url("/"), cachePolicy: policy)).response
            return response?.value(forHTTPHeaderField: "Age").flatMap { Int($0) }
        }
        #expect(await age() == 500)
        let stored = try #require(await age())
        #expect((500...700).contains(stored))
        #expect(await age(.reloadRevalidatingCacheData) == nil)
        let confirmed = try #require(await age())
        #expect((0...200).contains(confirmed))
        #expect(rig.server.requestCount == 2)
    }

    @Test("Revalidating says so to caches on the way, unless the request says something else")
    func revalidating() async throws {
        let rig = try Rig { _ in
            .text("body").headers(["Cache-Control": "max-age=1000", "ETag": "\"a\""])
        }
        defer { rig.stop() }
        var request = URLRequest(url: rig.url("/"), cachePolicy: .reloadRevalidatingCacheData)
        for _ in 1...2 { _ = await rig.session.load(request) }
        request.setValue("max-age=5", forHTTPHeaderField: "Cache-Control")
        _ = await rig.session.load(request)
        #expect(rig.server.requests.map { $0.header("Cache-Control") } == ["max-age=0", "max-age=0", "max-age=5"])
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, "\"a\"", "\"a\""])
    }
}
