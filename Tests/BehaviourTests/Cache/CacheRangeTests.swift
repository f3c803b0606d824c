import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Ranges of stored responses", .timeLimit(.minutes(1)))
struct CacheRangeTests {
    private static func server(_ fields: KeyValuePairs<String, String> = ["Cache-Control": "max-age=1000"]) throws
        -> LoopbackServer
    {
        try LoopbackServer { request in
            request.header("Range") == nil
                ? .text("0123456789").headers(fields)
                : .text("server", status: 206).header("Content-Range", "bytes 0-5/10")
        }
    }

    private static func load(_ range: String, _ session: URLSession, _ url: URL) async -> HandlerResult {
        await session.load(URLRequest(url, headers: ["Range": range]))
    }

    @Test(
        "A complete response that is stored answers a request for a part of it",
        arguments: [
            ("bytes=0-0", "0", "bytes 0-0/10"), ("bytes=3-5", "345", "bytes 3-5/10"),
            ("bytes=8-", "89", "bytes 8-9/10"),
            ("bytes=-3", "789", "bytes 7-9/10"), ("bytes=-99", "0123456789", "bytes 0-9/10"),
            ("bytes=8-9999999999999", "89", "bytes 8-9/10"),
        ]
    )
    func part(range: String, text: String, contentRange: String) async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        let result = await Self.load(range, rig.session, rig.url("/"))
        #expect(result.text == text)
        #expect(result.response?.statusCode == 206)
        #expect(result.response?.value(forHTTPHeaderField: "Content-Range") == contentRange)
        #expect(result.response?.value(forHTTPHeaderField: "Content-Length") == "\(text.utf8.count)")
        #expect(rig.server.requestCount == 1)
        // The whole is still there.
        #expect(await rig.session.load(rig.url("/")).text == "0123456789")
        #expect(rig.server.requestCount == 1)
    }

    @Test("A stored response that varies by Accept-Encoding and isn't coded answers a request for a part of it")
    func varying() async throws {
        let rig = try Rig(Self.server(["Cache-Control": "max-age=1000", "Vary": "Accept-Encoding"]))
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        #expect(await Self.load("bytes=1-2", rig.session, rig.url("/")).text == "12")
        #expect(rig.server.requestCount == 1)
    }

    @Test(
        "The server is asked for ranges that the stored response doesn't have, and for several at once",
        arguments: [
            "bytes=10-", "bytes=0-1,4-5", "bytes=5-3", "lines=1-2", "bytes=-0", "bytes=", "bytes=99999999999999999999-",
        ]
    )
    func elsewhere(range: String) async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        #expect(await Self.load(range, rig.session, rig.url("/")).text == "server")
        #expect(rig.server.requests.last?.header("Range") == range)
    }

    @Test(
        "A stored response that is stale or coded doesn't answer a request for a part of it",
        arguments: [
            ("Cache-Control", "max-age=0"), ("Cache-Control", "max-age=0, stale-while-revalidate=1000"),
            ("Content-Encoding", "x-unknown"),
        ]
    )
    func unsuitable(field: String, value: String) async throws {
        let rig = try Rig(
            Self.server(
                field == "Cache-Control"
                    ? [field: value, "ETag": "\"a\""] : ["Cache-Control": "max-age=1000", field: value]
            )
        )
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        #expect(await Self.load("bytes=0-1", rig.session, rig.url("/")).text == "server")
        #expect(rig.server.requests.last?.header("If-None-Match") == nil)
    }

    @Test("A condition of the program's own is the server's business")
    func condition() async throws {
        let rig = try Rig(Self.server(["Cache-Control": "max-age=1000", "ETag": "\"a\""]))
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        let request = URLRequest(rig.url("/"), headers: ["Range": "bytes=0-1", "If-Range": "\"a\""])
        #expect(await rig.session.load(request).text == "server")
    }

    @Test("Don't-load gets its part, or fails")
    func dontLoad() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        var request = URLRequest(rig.url("/"), headers: ["Range": "bytes=1-2"])
        request.cachePolicy = .returnCacheDataDontLoad
        #expect(await rig.session.load(request).text == "12")
        request.setValue("bytes=10-", forHTTPHeaderField: "Range")
        #expect(await rig.session.load(request).error?.code == .resourceUnavailable)
        #expect(rig.server.requestCount == 1)
    }
}
