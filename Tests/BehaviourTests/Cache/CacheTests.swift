import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The cache", .timeLimit(.minutes(1)))
struct CacheTests {
    /// Answers with the number of the request, as something that stays fresh for a while.
    private static func server(_ control: String = "max-age=1000") throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { _ in
            .text("\(count.next())").header("Cache-Control", control)
        }
    }

    private static func load(_ url: URL, _ session: URLSession, as kind: String) async throws -> String {
        switch kind {
        case "handler":
            return try #require(await session.load(url).text)
        case "data":
            return try await String(decoding: session.data(from: url).0, as: UTF8.self)
        case "bytes":
            return try await session.bytes(from: url).0.reduce(into: "") { $0.append(Character(Unicode.Scalar($1))) }
        default:
            let delegate = RecordingDelegate()
            let own = URLSession(configuration: session.configuration, delegate: delegate, delegateQueue: nil)
            defer { own.finishTasksAndInvalidate() }
            let task = own.dataTask(with: url)
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
            return try String(decoding: #require(delegate.body(of: task)), as: UTF8.self)
        }
    }

    // MARK: - Fresh

    @Test(
        "A fresh response is delivered again, in every way, without asking the server",
        arguments: ["handler", "data", "bytes", "delegate"],
        ["handler", "data", "bytes", "delegate"]
    )
    func fresh(first: String, second: String) async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        #expect(try await Self.load(rig.url("/"), rig.session, as: first) == "1")
        #expect(try await Self.load(rig.url("/"), rig.session, as: second) == "1")
        #expect(rig.server.requestCount == 1)
    }

    @Test("A stored response has the status, fields and URL that the server's had")
    func response() async throws {
        let rig = try Rig { _ in
            .text("hello", status: 203).headers(["Cache-Control": "max-age=9", "X-Own": "1"])
        }
        defer { rig.stop() }
        let first = await rig.session.load(rig.url("/a?b#c"))
        let second = await rig.session.load(rig.url("/a?b#c"))
        #expect(rig.server.requestCount == 1)
        #expect(second.response?.statusCode == 203)
        #expect(second.response?.value(forHTTPHeaderField: "x-own") == "1")
        #expect(second.response?.expectedContentLength == 5)
        #expect(second.response?.url == first.response?.url)
    }

    @Test("Metrics tell what came from the cache, also if the server only confirmed it")
    func metrics() async throws {
        let rig = try Rig { request in
            let response: LoopbackServer.Response =
                request.header("If-None-Match") == nil ? .text("body") : .status(304)
            return response.headers(["Cache-Control": "max-age=1000", "ETag": "\"a\""])
        }
        defer { rig.stop() }
        func fetchTypes(_ policy: URLRequest.CachePolicy) async throws -> [URLSessionTaskMetrics.ResourceFetchType] {
            let request = URLRequest(url: rig.url("/"), cachePolicy: policy)
            return try await MetricsTests.metrics(of: request, in: rig.session).transactionMetrics.map(
                \.resourceFetchType
            )
        }
        #expect(try await fetchTypes(.useProtocolCachePolicy) == [.networkLoad])
        #expect(try await fetchTypes(.useProtocolCachePolicy) == [.localCache])
        #expect(try await fetchTypes(.reloadRevalidatingCacheData) == [.networkLoad, .localCache])
        #expect(try await fetchTypes(.reloadIgnoringLocalCacheData) == [.networkLoad])
    }

    @Test("A task that is answered from the cache shows the same as after a transfer")
    func task() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        for _ in 1...2 {
            let task = rig.session.dataTask(with: rig.url("/"))
            task.resume()
            try await delegate.success(of: task)
            #expect(task.state == .completed)
            #expect(task.countOfBytesReceived == 1)
            #expect(task.countOfBytesExpectedToReceive == 1)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        }
        #expect(rig.server.requestCount == 1)
    }

    @Test(
        "URLs that differ in their query alone are two, though the stock cache takes them for one",
        arguments: [true, false]
    )
    func query(isStock: Bool) async throws {
        let rig = try Rig(Self.server()) {
            if isStock { $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: "/dev/null/none") }
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/?a")).text == "1")
        #expect(await rig.session.load(rig.url("/?b")).text == "2")
        #expect(await rig.session.load(rig.url("/?b")).text == "2")
        #expect(await rig.session.load(rig.url("/?a")).text == (isStock ? "3" : "1"))
    }

    @Test("A stored response has the fragment of the request that it answers")
    func fragment() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        for fragment in ["#one", "#two", ""] {
            let url = try #require(URL(string: rig.url("/a").absoluteString + fragment))
            let result = await rig.session.load(url)
            #expect(result.text == "1")
            #expect(result.response?.url == url)
        }
    }

    @Test("A stored response has the URL as the request that it answers has written it")
    func spelling() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/a"))
        let url = try #require(URL(string: "HTTP" + rig.url("/a").absoluteString.dropFirst(4)))
        let result = await rig.session.load(url)
        #expect(result.text == "1" && result.response?.url == url)
        #expect(rig.server.requestCount == 1)
    }

    @Test("Many tasks at once get the same response, and all of them complete")
    func many() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        let url = rig.url("/")
        _ = await rig.session.load(url)
        let texts = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<200 { group.addTask { await rig.session.load(url).text } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "1", count: 200))
        #expect(rig.server.requestCount == 1)
    }

    // MARK: - Validation

    @Test("A stale response is validated with its tag and date; a 304's fields replace the stored ones")
    func validation() async throws {
        let rig = try Rig { request in
            let fields: KeyValuePairs = [
                "ETag": "\"v1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "no-cache",
            ]
            let response: LoopbackServer.Response =
                request.header("If-None-Match") == nil ? .text("body") : .status(304).header("X-News", "1")
            return response.headers(fields)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "body")
        let second = await rig.session.load(rig.url("/"))
        #expect(second.text == "body")
        #expect(second.response?.statusCode == 200)
        #expect(second.response?.value(forHTTPHeaderField: "X-News") == "1")
        #expect(second.response?.value(forHTTPHeaderField: "Content-Type") == "text/plain; charset=utf-8")
        #expect(rig.server.requests[1].header("If-None-Match") == "\"v1\"")
        #expect(rig.server.requests[1].header("If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test("A response that a 304 has made fresh is used without asking again")
    func refreshed() async throws {
        let rig = try Rig { request in
            request.header("If-None-Match") == nil
                ? .text("body").headers(["ETag": "\"a\"", "Cache-Control": "max-age=10", "Age": "100"])
                : .status(304).headers(["ETag": "\"a\"", "Cache-Control": "max-age=10"])
        }
        defer { rig.stop() }
        for _ in 1...4 { #expect(await rig.session.load(rig.url("/")).text == "body") }
        #expect(rig.server.requestCount == 2)
    }

    @Test("A 200 to a validation replaces what was stored")
    func replaced() async throws {
        let count = Counter()
        let rig = try Rig { _ in
            let number = count.next()
            return .text("\(number)").headers(["ETag": "\"\(number)\"", "Cache-Control": "no-cache"])
        }
        defer { rig.stop() }
        for number in 1...3 { #expect(await rig.session.load(rig.url("/")).text == "\(number)") }
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, "\"1\"", "\"2\""])
    }

    @Test("A 304 to a condition set by hand is the program's")
    func conditionByHand() async throws {
        let rig = try Rig { request in
            request.header("If-None-Match") == nil
                ? .text("body").headers(["ETag": "\"a\"", "Cache-Control": "max-age=100"]) : .status(304)
        }
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/"))
        let result = await rig.session.load(URLRequest(rig.url("/"), headers: ["If-None-Match": "\"a\""]))
        #expect(result.response?.statusCode == 304)
        #expect(result.data == Data())
    }

    // MARK: - A server in trouble

    @Test("A stale response stands in for a server's error where it allows that", arguments: [500, 503])
    func staleIfError(status: Int) async throws {
        let count = Counter()
        let rig = try Rig { _ in
            count.next() == 1
                ? .text("body").headers(["ETag": "\"a\"", "Cache-Control": "max-age=0, stale-if-error=1000"])
                : .text("trouble", status: status)
        }
        defer { rig.stop() }
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "body") }
        #expect(rig.server.requestCount == 2)
    }

    @Test("A stale response stands in for a server that can't be reached only where it allows that")
    func unreachable() async throws {
        let server = try LoopbackServer { request in
            .text("body").headers([
                "ETag": "\"a\"", "Cache-Control": request.path == "/" ? "no-cache" : "max-age=0, stale-if-error=1000",
            ])
        }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (strict, lenient) = (server.url("/"), server.url("/lenient"))
        _ = await session.load(strict)
        _ = await session.load(lenient)
        server.stop()
        #expect(await session.load(lenient).text == "body")
        #expect(await session.load(strict).error != nil)
    }

    // MARK: - Not stored

    @Test(
        "A response that must not be stored, or is of no use, is asked for again",
        arguments: ["no-store", "max-age=0", "no-store, max-age=10"]
    )
    func notStored(control: String) async throws {
        let rig = try Rig(Self.server(control))
        defer { rig.stop() }
        for number in 1...3 { #expect(await rig.session.load(rig.url("/")).text == "\(number)") }
    }

    @Test("Without a cache nothing is stored")
    func noCache() async throws {
        let rig = try Rig(Self.server()) { $0.urlCache = nil }
        defer { rig.stop() }
        for number in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "\(number)") }
    }

    @Test("Downloads are neither stored nor answered from the cache")
    func downloads() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        func download() async throws -> String {
            let (file, _) = try await rig.session.download(from: rig.url("/"))
            defer { try? FileManager.default.removeItem(at: file) }
            return try String(contentsOf: file, encoding: .utf8)
        }
        #expect(try await download() == "1")
        #expect(await rig.session.load(rig.url("/")).text == "2")
        #expect(try await download() == "3")
        #expect(await rig.session.load(rig.url("/")).text == "2")
    }

    @Test("Uploads and other methods are neither stored nor answered from the cache")
    func uploads() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        for number in 1...2 {
            #expect(await rig.session.load(URLRequest(rig.url("/"), method: "POST")).text == "\(number)")
        }
        let (data, _) = try await rig.session.upload(for: URLRequest(rig.url("/"), method: "PUT"), from: Data("x".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "3")
        #expect(await rig.session.load(rig.url("/")).text == "4")
    }

    @Test("A part that was asked for isn't stored as the whole")
    func ranges() async throws {
        let rig = try Rig { request in
            request.header("Range") == nil
                ? .text("whole").header("Cache-Control", "max-age=10")
                : .text("wh", status: 206).headers(["Content-Range": "bytes 0-1/5", "Cache-Control": "max-age=10"])
        }
        defer { rig.stop() }
        let part = URLRequest(rig.url("/"), headers: ["Range": "bytes=0-1"])
        #expect(await rig.session.load(part).text == "wh")
        #expect(await rig.session.load(rig.url("/")).text == "whole")
        #expect(await rig.session.load(part).text == "wh")
    }

    @Test("A body of more than a twentieth of the cache is not stored, announced or not", arguments: [true, false])
    func tooLarge(isAnnounced: Bool) async throws {
        let count = Counter()
        let rig = try Rig { request in
            let text = String(repeating: "x", count: request.path == "/large" ? 51_000 : 50_000) + "\(count.next())"
            let response: LoopbackServer.Response = isAnnounced ? .text(text) : .chunked([text])
            return response.header("Cache-Control", "max-age=10")
        } configure: {
            $0.urlCache = URLCache(memoryCapacity: 1_010_000, diskCapacity: 0, diskPath: "/dev/null/none")
        }
        defer { rig.stop() }
        for kind in ["handler", "bytes"] {
            let (large, small) = (rig.url("/large?\(kind)"), rig.url("/small-\(kind)"))
            let first = try await Self.load(large, rig.session, as: kind)
            #expect(try await Self.load(large, rig.session, as: kind) != first)
            let second = try await Self.load(small, rig.session, as: kind)
            #expect(try await Self.load(small, rig.session, as: kind) == second)
        }
    }

    @Test("A body that was cut off is not stored")
    func incomplete() async throws {
        let count = Counter()
        let rig = try Rig { _ in
            count.next() == 1
                ? .pieces([.bytes("half"), .close, .bytes("rest")]).header("Cache-Control", "max-age=10")
                : .text("whole")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).error != nil)
        #expect(await rig.session.load(rig.url("/")).text == "whole")
    }
}
