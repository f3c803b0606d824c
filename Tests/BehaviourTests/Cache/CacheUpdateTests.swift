import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("What a 304 does to a stored response", .timeLimit(.minutes(1)))
struct CacheUpdateTests {
    /// Answers the first request with `first`, and each later one with the next of `later`, the last again and again.
    private static func server(
        _ first: LoopbackServer.Response,
        _ later: LoopbackServer.Response...
    ) throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { _ in
            let number = count.next()
            return number == 1 ? first : later[min(number - 2, later.count - 1)]
        }
    }

    private static func head(_ lines: String...) -> LoopbackServer.Response { head(lines) }

    private static func head(_ lines: [String]) -> LoopbackServer.Response {
        .raw([.bytes("HTTP/1.1 304 Not Modified\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n")])
    }

    private static func body(_ lines: String...) -> LoopbackServer.Response {
        let fields = lines.map { $0 + "\r\n" }.joined()
        return .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n" + fields + "\r\nbody")])
    }

    /// A date that was a thousand seconds ago.
    private static let past = HTTPDateText.text(secondsFromNow: -1000)

    @Test("The must-revalidate of a 304 is heeded even if the stored response stays stale")
    func stale() async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "Cache-Control: max-age=0, stale-if-error=1000"),
                Self.head("ETag: \"a\"", "Cache-Control: max-age=0, must-revalidate, stale-if-error=1000"),
                .text("trouble", status: 503)
            )
        )
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "body")
        #expect(await rig.session.load(rig.url("/")).text == "body")
        #expect(await rig.session.load(rig.url("/")).text == "trouble")
    }

    @Test("A stored response is given up once 304s have added more fields than one head could have")
    func growth() async throws {
        func update(_ prefix: String) -> LoopbackServer.Response {
            Self.head(["ETag: \"a\""] + (0..<2000).map { "\(prefix)\($0): 1" })
        }
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "Cache-Control: no-cache"),
                update("a"),
                update("b"),
                update("c"),
                .text("anew")
            )
        )
        defer { rig.stop() }
        for _ in 0..<4 { #expect(await rig.session.load(rig.url("/")).text == "body") }
        #expect(await rig.session.load(rig.url("/")).text == "anew")
        let validators = rig.server.requests.map { $0.header("If-None-Match") }
        #expect(validators == [nil, "\"a\"", "\"a\"", "\"a\"", nil])
    }

    @Test("A 304 changes all stored fields but those that tell how the stored body is to be read")
    func fields() async throws {
        let rig = try Rig(
            Self.server(
                Self.body(
                    "ETag: \"a\"",
                    "Content-Type: text/plain",
                    "Content-Language: de",
                    "X-A: old",
                    "X-Kept: 1",
                    "Set-Cookie: a=1"
                ),
                Self.head(
                    "ETag: \"a\"",
                    "Content-Type: text/html",
                    "Content-Language: en",
                    "Content-Length: 99",
                    "X-A: new",
                    "Content-Security-Policy: default-src 'none'",
                    "Connection: X-Hop",
                    "X-Hop: 1",
                    "Keep-Alive: timeout=5"
                )
            )
        )
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        _ = await rig.session.load(rig.url("/"))
        let request = URLRequest(url: rig.url("/"), cachePolicy: .returnCacheDataDontLoad)
        let response = try #require(await rig.session.load(request).response)
        func value(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }
        #expect(value("Content-Type") == "text/html")
        #expect(value("Content-Language") == "en")
        #expect(value("Content-Security-Policy") == "default-src 'none'")
        #expect(value("Content-Length") == "4")
        #expect(value("X-A") == "new")
        #expect(value("X-Kept") == "1")
        #expect(value("X-Hop") == nil)
        #expect(value("Connection") == nil)
        #expect(value("Keep-Alive") == nil)
    }

    @Test(
        "A 304 with another tag updates nothing, and the server is asked again without conditions",
        arguments: ["\"b\"", "W/\"b\""]
    )
    func otherTag(tag: String) async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "X-A: old", "Cache-Control: max-age=0"),
                Self.head("ETag: " + tag, "X-A: new", "Cache-Control: max-age=1000"),
                .text("newer").headers(["ETag": tag, "Cache-Control": "max-age=1000"])
            )
        )
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        let second = await rig.session.load(rig.url("/"))
        #expect(second.text == "newer")
        #expect(second.response?.value(forHTTPHeaderField: "X-A") == nil)
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, "\"a\"", nil])
        #expect(await rig.session.load(rig.url("/")).text == "newer")
        #expect(rig.server.requestCount == 3)
    }

    @Test("If there is no tag, a 304 with another date updates nothing, and the server is asked again")
    func otherDate() async throws {
        let newer = HTTPDateText.text(secondsFromNow: -500)
        let rig = try Rig(
            Self.server(
                Self.body("Last-Modified: " + Self.past, "X-A: old", "Cache-Control: max-age=0"),
                Self.head("Last-Modified: " + newer, "X-A: new", "Cache-Control: max-age=1000"),
                .text("newer").headers(["Last-Modified": newer, "Cache-Control": "max-age=1000"])
            )
        )
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        #expect(await rig.session.load(rig.url("/")).text == "newer")
        #expect(rig.server.requests.map { $0.header("If-Modified-Since") } == [nil, Self.past, nil])
        #expect(await rig.session.load(rig.url("/")).text == "newer")
        #expect(rig.server.requestCount == 3)
    }

    @Test("A server that answers everything with another tag's 304 gets no more than two requests for a task")
    func contradiction() async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "Cache-Control: max-age=0"),
                Self.head("ETag: \"b\"")
            )
        )
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        #expect(await rig.session.load(rig.url("/")).response?.statusCode == 304)
        #expect(rig.server.requestCount == 3)
    }

    @Test("A 304 whose tag differs only in strength confirms the stored response, and updates nothing")
    func weakly() async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: W/\"a\"", "X-A: old", "Cache-Control: max-age=0"),
                Self.head("ETag: \"a\"", "X-A: new", "Cache-Control: max-age=1000")
            )
        )
        defer { rig.stop() }
        for number in 1...3 {
            let result = await rig.session.load(rig.url("/"))
            #expect(result.text == "body")
            #expect(result.response?.value(forHTTPHeaderField: "X-A") == "old")
            #expect(rig.server.requestCount == number)
        }
    }

    @Test("A 304 without a date makes the stored response as young as its receipt")
    func date() async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "Date: \(Self.past)", "Cache-Control: max-age=100"),
                Self.head("ETag: \"a\"")
            )
        )
        defer { rig.stop() }
        for _ in 1...4 { #expect(await rig.session.load(rig.url("/")).text == "body") }
        #expect(rig.server.requestCount == 2)
    }

    @Test(
        "A 304's Vary is heeded from then on, and a response that varies by cookies is kept in memory only",
        arguments: [("X-Kind", URLCache.StoragePolicy.allowed), ("Cookie", .allowedInMemoryOnly)]
    )
    func vary(name: String, policy: URLCache.StoragePolicy) async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "Cache-Control: max-age=0"),
                Self.head("ETag: \"a\"", "Cache-Control: max-age=1000", "Vary: " + name),
                .text("other")
            )
        )
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), headers: [name: "a=1"])
        for _ in 1...3 { #expect(await rig.session.load(request).text == "body") }
        #expect(rig.server.requestCount == 2)
        let cache = try #require(rig.session.configuration.urlCache)
        #expect(cache.cachedResponse(for: request)?.storagePolicy == policy)
        #expect(await rig.session.load(URLRequest(rig.url("/"), headers: [name: "a=2"])).text == "other")
    }

    @Test(
        "A 304 that says no-store, or varies by everything, takes the response out of the cache",
        arguments: [
            "Cache-Control: no-store", "Vary: *",
        ]
    )
    func noStore(line: String) async throws {
        let rig = try Rig(
            Self.server(
                Self.body("ETag: \"a\"", "Cache-Control: max-age=0"),
                Self.head("ETag: \"a\"", line),
                .text("newer")
            )
        )
        defer { rig.stop() }
        for text in ["body", "body", "newer"] { #expect(await rig.session.load(rig.url("/")).text == text) }
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, "\"a\"", nil])
    }
}

/// Dates as servers write them.
enum HTTPDateText {
    static func text(secondsFromNow seconds: TimeInterval) -> String {
        LoopbackServer.HTTPDate.format(Date() + seconds)
    }
}
