import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Stale responses that are good enough", .timeLimit(.minutes(1)))
struct CacheStaleTests {
    @Test("stale-if-error holds without a validator as well", arguments: [500, 502, 503, 504, 404])
    func staleIfError(status: Int) async throws {
        let count = Counter()
        let rig = try Rig { _ in
            count.next() == 1
                ? .text("body").header("Cache-Control", "max-age=0, stale-if-error=1000")
                : .text("trouble", status: status)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "body")
        #expect(await rig.session.load(rig.url("/")).text == (status == 404 ? "trouble" : "body"))
        #expect(rig.server.requestCount == 2)
    }

    @Test("stale-if-error holds if the server can't be reached")
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

    @Test("stale-if-error doesn't hold for a response that is an error itself")
    func storedError() async throws {
        let count = Counter()
        let server = try LoopbackServer { _ in
            .text("\(count.next())", status: 503).header("Cache-Control", "max-age=0, stale-if-error=1000")
        }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        for number in 1...2 { #expect(await session.load(url).text == "\(number)") }
        server.stop()
        #expect(await session.load(url).error != nil)
    }

    @Test(
        "stale-if-error doesn't hold for a request that wants a validation, unless it allows that itself",
        arguments: [
            (nil, .reloadRevalidatingCacheData, false), ("no-cache", .useProtocolCachePolicy, false),
            ("no-cache, stale-if-error=1000", .useProtocolCachePolicy, true),
        ] as [(String?, URLRequest.CachePolicy, Bool)]
    )
    func validation(control: String?, policy: URLRequest.CachePolicy, holds: Bool) async throws {
        let count = Counter()
        let rig = try Rig { _ in
            count.next() == 1
                ? .text("body").headers(["ETag": "\"a\"", "Cache-Control": "max-age=1000, stale-if-error=1000"])
                : .text("trouble", status: 503)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "body")
        var request = URLRequest(url: rig.url("/"), cachePolicy: policy)
        request.setValue(control, forHTTPHeaderField: "Cache-Control")
        #expect(await rig.session.load(request).text == (holds ? "body" : "trouble"))
        #expect(rig.server.requests.last?.header("If-None-Match") == "\"a\"")
    }

    @Test(
        "stale-if-error holds if the server lets the time-out pass, waiting for connectivity or not",
        arguments: [false, true]
    )
    func timeOut(waits: Bool) async throws {
        let count = Counter()
        let rig = try Rig { request in
            let control = request.path == "/" ? "max-age=0, stale-if-error=1000" : "max-age=0"
            return count.next() <= 2 ? .text("body").header("Cache-Control", control) : .never
        } configure: {
            $0.waitsForConnectivity = waits
        }
        defer { rig.stop() }
        for path in ["/", "/other"] { #expect(await rig.session.load(rig.url(path)).text == "body") }
        // Long enough for the request to arrive.
        let result = await rig.session.load(URLRequest(rig.url("/"), timeout: 1))
        #expect(result.text == "body")
        #expect(result.response?.value(forHTTPHeaderField: "Age") != nil)
        let failed = await rig.session.load(URLRequest(rig.url("/other"), timeout: 1))
        #expect(failed.error?.code == .timedOut)
        try await rig.server.waitForRequests(4)
        #expect(rig.server.requestCount == 4)
    }

    @Test("stale-if-error doesn't hold once the server's answer has begun")
    func timeOutInBody() async throws {
        let count = Counter()
        let rig = try Rig { _ in
            let isFirst = count.next() == 1
            let response: LoopbackServer.Response =
                isFirst ? .text("body") : .pieces([.bytes("bo"), .never, .bytes("dy")])
            return response.header("Cache-Control", "max-age=0, stale-if-error=1000")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "body")
        // Long enough for the head to arrive.
        let result = await rig.session.load(URLRequest(rig.url("/"), timeout: 2))
        #expect(result.error?.code == .timedOut)
        #expect(result.data != Data("body".utf8))
    }

    /// Tells what it has stored.
    private final class WatchedCache: URLCache, @unchecked Sendable {
        let stored = Watched<[String]>([])

        init() {
            super.init(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: "/dev/null/none")
        }

        override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
            super.storeCachedResponse(cachedResponse, for: request)
            stored.update { $0.append(String(decoding: cachedResponse.data, as: UTF8.self)) }
        }
    }

    /// Counts what it hears of.
    private final class Listener: NSObject, URLSessionDataDelegate {
        let events = Watched<[String: Int]>([:])

        private func note(_ event: String) { events.update { $0[event, default: 0] += 1 } }

        func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { note("created") }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { note("data") }
        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didFinishCollecting metrics: URLSessionTaskMetrics
        ) { note("metrics") }
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            note("completed")
        }
    }

    @Test(
        "stale-while-revalidate gives the stale response at once, and the newer one from then on",
        arguments: [true, false]
    )
    func staleWhileRevalidate(hasValidator: Bool) async throws {
        let count = Counter()
        let answer = Gate()
        let cache = WatchedCache()
        let rig = try Rig { _ in
            let number = count.next()
            let control = number == 1 ? "max-age=0, stale-while-revalidate=1000" : "max-age=1000"
            let response = LoopbackServer.Response.text("\(number)").header("Cache-Control", control)
            return (hasValidator ? response.header("ETag", "\"\(number)\"") : response)
                .after(number == 1 ? [] : [.waitFor(answer)])
        } configure: {
            $0.urlCache = cache
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "1")
        // Tasks that overlap with the revalidation get the same, and ask for nothing.
        for _ in 1...5 { #expect(await rig.session.load(rig.url("/")).text == "1") }
        answer.open()
        try await cache.stored.wait { $0.last == "2" }
        #expect(await rig.session.load(rig.url("/")).text == "2")
        #expect(rig.server.requests.map { $0.header("If-None-Match") } == [nil, hasValidator ? "\"1\"" : nil])
    }

    @Test("The task that revalidates is on no list, and the delegate hears nothing of it")
    func hidden() async throws {
        let count = Counter()
        let (isAsked, answer) = (Gate(), Gate())
        let (cache, listener) = (WatchedCache(), Listener())
        let rig = try Rig(delegate: listener) { _ in
            let number = count.next()
            return .text("\(number)")
                .header("Cache-Control", number == 1 ? "max-age=0, stale-while-revalidate=1000" : "max-age=1000")
                .after(number == 1 ? [] : [.open(isAsked), .waitFor(answer)])
        } configure: {
            $0.urlCache = cache
        }
        defer { rig.stop() }
        for number in 1...2 {
            rig.session.dataTask(with: rig.url("/")).resume()
            try await listener.events.wait { $0["completed"] == number }
        }
        try await isAsked.wait()
        #expect(await rig.session.allTasks.isEmpty)
        answer.open()
        try await cache.stored.wait { $0.last == "2" }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await listener.events.wait { $0["completed"] == 3 }
        #expect(listener.events.value == ["created": 3, "data": 3, "metrics": 3, "completed": 3])
        #expect(rig.server.requestCount == 2)
    }

    @Test("A task with a delegate of its own waits for the server")
    func ownDelegate() async throws {
        let count = Counter()
        let rig = try Rig { _ in
            .text("\(count.next())").header("Cache-Control", "max-age=0, stale-while-revalidate=1000")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "1")
        let (data, _) = try await rig.session.data(from: rig.url("/"), delegate: Listener())
        #expect(data == Data("2".utf8))
    }

    /// A server that gives a stale response, and then never another.
    private static func silentServer(isAsked: Gate) throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { _ in
            count.next() == 1
                ? .text("1").header("Cache-Control", "max-age=0, stale-while-revalidate=1000")
                : LoopbackServer.Response.never.after([.open(isAsked)])
        }
    }

    @Test(
        "The revalidation ends when the body is longer than the cache takes",
        arguments: ["max-age=1000", "no-store"]
    )
    func endlessBody(control: String) async throws {
        let count = Counter()
        let rig = try Rig { _ in
            count.next() == 1
                ? .text("1").header("Cache-Control", "max-age=0, stale-while-revalidate=1000").closing()
                : .chunked(.generated(length: 1 << 40)).header("Cache-Control", control)
        } configure: {
            $0.urlCache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { rig.stop() }
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "1") }
        try await rig.server.waitForRequests(2)
        try await rig.server.waitUntilNoConnections()
    }

    @Test(
        "A server's error leaves what is stored, whatever its own fields, and the next use tries again",
        arguments: [429, 500, 501, 503],
        [nil, "max-age=1000", "public", "private, max-age=0, stale-while-revalidate=1000"]
    )
    func inconclusive(status: Int, control: String?) async throws {
        let count = Counter()
        let rig = try Rig { _ in
            let number = count.next()
            guard number == 2 else {
                return .text("\(number)").header("Cache-Control", "max-age=0, stale-while-revalidate=1000")
            }
            let error = LoopbackServer.Response.text("trouble", status: status)
            return control.map { error.header("Cache-Control", $0) } ?? error
        }
        defer { rig.stop() }
        // The revalidations end unseen: each use of the stored response may overlap with one.
        var texts: [String] = []
        while texts.last != "3", texts.last != "trouble" {
            texts.append(try #require(await rig.session.load(rig.url("/")).text))
        }
        #expect(texts.last == "3" && texts.dropLast().allSatisfy { $0 == "1" })
    }

    @Test("If too many revalidations are under way, tasks wait for the server themselves")
    func tooMany() async throws {
        let maximumAtOnce = 64
        let count = Counter()
        let rig = try Rig { request in
            if request.path == "/last" {
                return .text("\(count.next())").header("Cache-Control", "max-age=0, stale-while-revalidate=1000")
            }
            return request.header("Cache-Control") == nil
                ? .text("1").header("Cache-Control", "max-age=0, stale-while-revalidate=1000") : .never
        } configure: {
            $0.httpMaximumConnectionsPerHost = 100
        }
        defer { rig.stop() }
        for _ in 1...2 {
            for number in 1...maximumAtOnce { #expect(await rig.session.load(rig.url("/\(number)")).text == "1") }
        }
        for number in 1...3 { #expect(await rig.session.load(rig.url("/last")).text == "\(number)") }
    }

    @Test("A session that is invalidated doesn't wait for a revalidation", arguments: [true, false])
    func invalidation(cancels: Bool) async throws {
        let isAsked = Gate()
        let server = try Self.silentServer(isAsked: isAsked)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        for _ in 1...2 { _ = await session.load(server.url("/")) }
        try await isAsked.wait()
        if cancels { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        try await delegate.invalidation()
    }

    @Test("A session that is dropped doesn't wait for a revalidation, and leaves the cache ready for the next one")
    func dropped() async throws {
        let isAsked = Gate()
        let server = try Self.silentServer(isAsked: isAsked)
        defer { server.stop() }
        let cache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        do {
            let session = URLSession.forTest { $0.urlCache = cache }
            for _ in 1...2 { #expect(await session.load(server.url("/")).text == "1") }
            try await isAsked.wait()
        }
        try await server.waitUntilNoConnections()
        let session = URLSession.forTest { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        // The connection ends a moment before the cache hears that the revalidation is over.
        repeat { #expect(await session.load(server.url("/")).text == "1") } while server.requestCount < 3
    }

    @Test(
        "stale-while-revalidate doesn't count if another directive of the response or the request forbids it",
        arguments: [
            ("max-age=0, stale-while-revalidate=1000, must-revalidate", nil),
            ("no-cache, stale-while-revalidate=1000", nil),
            ("max-age=0, stale-while-revalidate=0", nil), ("max-age=0, stale-while-revalidate=1000", "no-cache"),
            ("max-age=0, stale-while-revalidate=1000", "min-fresh=1"),
        ] as [(String, String?)]
    )
    func refused(control: String, request: String?) async throws {
        let count = Counter()
        let rig = try Rig { _ in .text("\(count.next())").header("Cache-Control", control) }
        defer { rig.stop() }
        let headers = request.map { ["Cache-Control": $0] } ?? [:]
        for number in 1...3 {
            #expect(await rig.session.load(URLRequest(rig.url("/"), headers: headers)).text == "\(number)")
        }
    }
}
