import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A newer answer that isn't stored drops the older one", .timeLimit(.minutes(1)))
struct CacheSupersededTests {
    private static let largest = 50_000

    private static func session(_ delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        URLSession.forTest(delegate: delegate) {
            $0.urlCache = CurlURLCache(memoryCapacity: 20 * largest, diskCapacity: 0, diskPath: nil)
        }
    }

    /// What is stored for the server's root.
    private static func stored(_ session: URLSession, _ server: LoopbackServer) async -> String? {
        await session.load(URLRequest(url: server.url("/"), cachePolicy: .returnCacheDataDontLoad)).text
    }

    private static func reload(_ session: URLSession, _ server: LoopbackServer) async -> HandlerResult {
        await session.load(URLRequest(url: server.url("/"), cachePolicy: .reloadIgnoringLocalCacheData))
    }

    @Test(
        "A reload whose answer isn't stored drops the older one",
        arguments: ["no-store", "500", "404 no-store", "large", "large and chunked", "redirect"]
    )
    func reloaded(kind: String) async throws {
        let count = Counter()
        let server = try LoopbackServer { request in
            if request.path == "/elsewhere" { return .text("elsewhere") }
            if count.next() == 1 { return .text("older").header("Cache-Control", "max-age=1000") }
            switch kind {
            case "no-store": return .text("newer").header("Cache-Control", "no-store")
            case "500": return .text("newer", status: 500)
            case "404 no-store": return .text("newer", status: 404).header("Cache-Control", "no-store")
            case "large": return .text(String(repeating: "x", count: Self.largest + 1))
            case "redirect": return .redirect(to: "/elsewhere")
            default: return .chunked([String(repeating: "x", count: Self.largest + 1)])
            }
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/"))
        #expect(await Self.stored(session, server) == "older")
        #expect(await Self.reload(session, server).response != nil)
        #expect(await Self.stored(session, server) == nil)
    }

    @Test("A body that a delegate gets in parts drops the older response")
    func inParts() async throws {
        let count = Counter()
        let server = try LoopbackServer { _ in
            let type = "multipart/x-mixed-replace; boundary=b"
            let answer: LoopbackServer.Response =
                count.next() == 1
                ? .text("older") : .text("--b\r\n\r\nnewer\r\n--b--", contentType: type)
            return answer.header("Cache-Control", "max-age=1000")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/"))
        #expect(await Self.stored(session, server) == "older")
        let request = URLRequest(url: server.url("/"), cachePolicy: .reloadIgnoringLocalCacheData)
        let task = session.dataTask(with: request)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("newer".utf8))
        #expect(await Self.stored(session, server) == nil)
    }

    @Test("A newer answer that breaks off or is cancelled leaves the older one", arguments: [true, false])
    func incomplete(breaksOff: Bool) async throws {
        let count = Counter()
        let server = try LoopbackServer { _ in
            count.next() == 1
                ? .text("older").header("Cache-Control", "max-age=1000")
                : .fault(.insideBody(after: 3, of: 1000), then: breaksOff ? .close : .hang)
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/"))
        let request = URLRequest(url: server.url("/"), cachePolicy: .reloadIgnoringLocalCacheData)
        let (bytes, response) = try await session.bytes(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let error = await #expect(throws: URLError.self) {
            for try await _ in bytes where !breaksOff { bytes.task.cancel() }
        }
        #expect(error?.code == (breaksOff ? .networkConnectionLost : .cancelled))
        try await server.waitUntilNoConnections()
        #expect(await Self.stored(session, server) == "older")
    }

    @Test("A validation whose answer isn't stored drops the older one")
    func validated() async throws {
        let server = try LoopbackServer { request in
            request.header("If-None-Match") == nil
                ? .text("older").headers(["ETag": "\"a\"", "Cache-Control": "max-age=0"])
                : .text("newer").header("Cache-Control", "no-store")
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for text in ["older", "newer", "older"] { #expect(await session.load(server.url("/")).text == text) }
    }

    @Test("A response that the delegate doesn't let be stored drops the older one")
    func refused() async throws {
        final class Delegate: NSObject, URLSessionDataDelegate {
            let completed = Watched(0)
            let refuses = Watched(false)

            func urlSession(
                _ session: URLSession,
                dataTask: URLSessionDataTask,
                willCacheResponse proposedResponse: CachedURLResponse,
                completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
            ) {
                completionHandler(refuses.value ? nil : proposedResponse)
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.update { $0 += 1 }
            }
        }
        let server = try LoopbackServer { _ in .text("body").header("Cache-Control", "max-age=1000") }
        defer { server.stop() }
        let delegate = Delegate()
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        for number in 1...2 {
            session.dataTask(with: URLRequest(url: server.url("/"), cachePolicy: .reloadIgnoringLocalCacheData))
                .resume()
            try await delegate.completed.wait { $0 == number }
            #expect(await Self.stored(session, server) == (number == 1 ? "body" : nil))
            delegate.refuses.update { $0 = true }
        }
    }

    @Test("The response of a task that became a download drops the older one")
    func becameDownload() async throws {
        let (count, gate) = (Counter(), Gate())
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let server = try LoopbackServer { _ in
            let isFirst = count.next() == 1
            let body: LoopbackServer.Response =
                isFirst ? .text("older") : .pieces([.bytes("new"), .waitFor(gate), .bytes("er")])
            return body.header("Cache-Control", "max-age=1000")
        }
        defer { server.stop() }
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/"))
        let request = URLRequest(url: server.url("/"), cachePolicy: .reloadIgnoringLocalCacheData)
        let task = session.dataTask(with: request)
        task.resume()
        try await delegate.wait(for: task) { $0 == .becameDownload }
        let download = try #require(delegate.download(of: task))
        gate.open()
        try await delegate.success(of: download)
        #expect(await Self.stored(session, server) == nil)
    }

    /// What is stored after a GET, and then a HEAD with another value of the field that is `changed`.
    private static func storedAfterHead(
        changed: String,
        by value: String,
        status: Int = 200,
        kind: String = "a",
        in cache: URLCache
    ) async throws -> String? {
        let server = try LoopbackServer { request in
            let isHead = request.method == "HEAD"
            var fields = [
                "ETag": "\"a\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Content-Length": "5",
                "Cache-Control": "max-age=1000", "Vary": "X-Kind",
            ]
            if isHead { fields[changed] = value }
            let lines = fields.map { "\($0.key): \($0.value)\r\n" }.joined()
            return .raw([.bytes("HTTP/1.1 \(isHead ? status : 200) X\r\n\(lines)\r\n\(isHead ? "" : "older")")])
        }
        defer { server.stop() }
        let session = URLSession.forTest { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(URLRequest(server.url("/"), headers: ["X-Kind": "a"])).text == "older")
        let head = URLRequest(server.url("/"), method: "HEAD", headers: ["X-Kind": kind])
        #expect(await session.load(head).response?.statusCode == status)
        #expect(server.requestCount == 2)
        var stored = URLRequest(server.url("/"), headers: ["X-Kind": "a"])
        stored.cachePolicy = .returnCacheDataDontLoad
        return await session.load(stored).text
    }

    static let changes: [(field: String, value: String, isOther: Bool)] = [
        ("ETag", "\"b\"", true), ("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT", true),
        ("Content-Length", "6", true),
        ("X-Other", "1", false),
    ]

    @Test(
        "A HEAD whose response is about another representation drops the older one, before the program hears of it",
        arguments: ["memory", "disk", "stock"],
        changes
    )
    func head(place: String, changed: (field: String, value: String, isOther: Bool)) async throws {
        let directory = try TemporaryDirectory()
        let capacity = 20 * Self.largest
        let cache =
            place == "stock"
            ? URLCache(memoryCapacity: capacity, diskCapacity: 0, diskPath: directory.url.path)
            : CurlURLCache(
                memoryCapacity: capacity,
                diskCapacity: place == "disk" ? capacity : 0,
                diskPath: directory.url.path
            )
        let stored = try await Self.storedAfterHead(changed: changed.field, by: changed.value, in: cache)
        #expect(stored == (changed.isOther ? nil : "older"))
    }

    @Test("A HEAD that fails, or is about another variant, leaves the stored response alone")
    func otherHead() async throws {
        for (status, kind) in [(404, "a"), (200, "b")] {
            let cache = CurlURLCache(memoryCapacity: 20 * Self.largest, diskCapacity: 0, diskPath: nil)
            let stored = try await Self.storedAfterHead(
                changed: "ETag",
                by: "\"b\"",
                status: status,
                kind: kind,
                in: cache
            )
            #expect(stored == "older", "\(status), \(kind)")
        }
    }

    @Test(
        "An answer that isn't about the whole leaves the stored response alone",
        arguments: ["Range", "If-None-Match", "If-Match"]
    )
    func others(field: String) async throws {
        let server = try LoopbackServer { request in
            if request.header("Range") != nil { return .text("ol", status: 206).header("Content-Range", "bytes 0-1/5") }
            if request.header("If-None-Match") != nil { return .status(304) }
            if request.header("If-Match") != nil { return .status(412).header("Cache-Control", "max-age=1000") }
            return .text("older").header("Cache-Control", "max-age=1000")
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/"))
        var request = URLRequest(server.url("/"), headers: [field: field == "Range" ? "bytes=0-1" : "\"x\""])
        request.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(await session.load(request).response != nil)
        #expect(server.requestCount == 2)
        #expect(await Self.stored(session, server) == "older")
    }
}
