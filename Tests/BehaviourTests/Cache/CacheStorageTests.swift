import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("What is in the cache", .timeLimit(.minutes(1)))
struct CacheStorageTests {
    private static func server() throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { request in
            .text("\(count.next())").headers(["Cache-Control": "max-age=1000", "Vary": "X-Kind"])
        }
    }

    /// One of ours, or the stock module's.
    private static func diskCache(_ directory: TemporaryDirectory, isOurs: Bool) -> URLCache {
        isOurs
            ? CurlURLCache(memoryCapacity: 0, diskCapacity: 1 << 20, diskPath: directory.url.path)
            : URLCache(memoryCapacity: 0, diskCapacity: 1 << 20, diskPath: directory.url.path)
    }

    @Test(
        "A response on disk is used by another cache over the same directory, and knows its request and time",
        arguments: [true, false]
    )
    func disk(isOurs: Bool) async throws {
        let server = try Self.server()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let request = URLRequest(server.url("/?a"), headers: ["X-Kind": "1"])
        for _ in 1...2 {
            let cache = Self.diskCache(directory, isOurs: isOurs)
            let session = URLSession.forTest { $0.urlCache = cache }
            defer { session.invalidateAndCancel() }
            #expect(await session.load(request).text == "1")
            CacheStores.store(over: cache).waitForWrites()
        }
        let session = URLSession.forTest { $0.urlCache = Self.diskCache(directory, isOurs: isOurs) }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(URLRequest(server.url("/?a"), headers: ["X-Kind": "2"])).text == "2")
        #expect(await session.load(server.url("/?b")).text == "3")
        await session.flush()
    }

    @Test("A response with credentials is not written to disk", arguments: [true, false])
    func secrets(isOurs: Bool) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.diskCache(directory, isOurs: isOurs)
        let rig = try Rig(Self.server()) { $0.urlCache = cache }
        defer { rig.stop() }
        _ = await rig.session.load(URLRequest(rig.url("/"), headers: ["Authorization": "Bearer secret"]))
        CacheStores.store(over: cache).waitForWrites()
        #expect(directory.content == [])
    }

    @Test(
        "A cache finds what was stored, under the task's request, once the task has completed",
        arguments: ["memory", "ours", "stock"]
    )
    func found(kind: String) async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig(Self.server()) {
            if kind != "memory" { $0.urlCache = Self.diskCache(directory, isOurs: kind == "ours") }
        }
        defer { rig.stop() }
        let cache = try #require(rig.session.configuration.urlCache)
        _ = await rig.session.load(rig.url("/"))
        let cached = try #require(cache.cachedResponse(for: URLRequest(url: rig.url("/"))))
        #expect(cached.data == Data("1".utf8))
        #expect((cached.response as? HTTPURLResponse)?.statusCode == 200)
        await rig.session.flush()
    }

    @Test("A response that the program has removed is loaded again")
    func removal() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        let cache = try #require(rig.session.configuration.urlCache)
        #expect(await rig.session.load(rig.url("/")).text == "1")
        CacheStores.store(over: cache).waitForWrites()
        cache.removeCachedResponse(for: URLRequest(url: rig.url("/")))
        #expect(await rig.session.load(rig.url("/")).text == "2")
        await rig.session.reset()
        #expect(cache.cachedResponse(for: URLRequest(url: rig.url("/"))) == nil)
        #expect(await rig.session.load(rig.url("/")).text == "3")
    }

    @Test("Flushing waits for what is being written")
    func flush() async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig(Self.server()) { $0.urlCache = Self.diskCache(directory, isOurs: true) }
        defer { rig.stop() }
        for number in 1...50 { _ = await rig.session.load(rig.url("/?\(number)")) }
        await rig.session.flush()
        let other = Self.diskCache(directory, isOurs: true)
        for number in 1...50 {
            #expect(
                other.cachedResponse(for: URLRequest(url: rig.url("/?\(number)")))?.data == Data("\(number)".utf8)
            )
        }
    }

    @Test(
        "A response that the program has stored is used by policies that take anything, and by others while it is fresh"
    )
    func storedByProgram() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        let cache = try #require(rig.session.configuration.urlCache)
        func store(_ fields: [String: String], at url: URL) throws {
            let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
            let cached = CachedURLResponse(response: try #require(response), data: Data("own".utf8))
            cache.storeCachedResponse(cached, for: URLRequest(url: url))
        }
        try store([:], at: rig.url("/a"))
        let anything = URLRequest(url: rig.url("/a"), cachePolicy: .returnCacheDataDontLoad)
        #expect(await rig.session.load(anything).text == "own")
        #expect(await rig.session.load(rig.url("/a")).text == "1")
        try store(
            ["Expires": "Sun, 06 Nov 2094 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
            at: rig.url("/b")
        )
        #expect(await rig.session.load(rig.url("/b")).text == "own")
    }

    @Test("Storing over and over, and being thrown out, does no harm to the stock cache")
    func eviction() async throws {
        let cache = URLCache(memoryCapacity: 20_000, diskCapacity: 0, diskPath: "/dev/null/none")
        let rig = try Rig { _ in
            .text(String(repeating: "x", count: 900)).headers(["ETag": "\"a\"", "Cache-Control": "max-age=1000"])
        } configure: {
            $0.urlCache = cache
            $0.requestCachePolicy = .reloadIgnoringLocalCacheData
        }
        defer { rig.stop() }
        for round in 1...3 {
            for path in 1...30 {
                _ = await rig.session.load(rig.url("/\(path % 7)"))
                _ = await rig.session.load(rig.url("/\(round)/\(path)"))
            }
        }
        CacheStores.store(over: cache).waitForWrites()
        #expect(cache.currentMemoryUsage > 0)
        #expect(cache.currentMemoryUsage <= 20_000)
    }

    @Test("A body that the program wants encoded isn't stored, since others with the same cache get theirs decoded")
    func encoded() async throws {
        let server = try LoopbackServer { _ in
            .data(CodedBodies.gzip).headers(["Content-Encoding": "gzip", "Cache-Control": "max-age=1000"])
        }
        defer { server.stop() }
        let cache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let encoded = URLSession.forTest {
            $0.urlCache = cache
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("HTTP_CONTENT_DECODING", false) }
        }
        defer { encoded.invalidateAndCancel() }
        let decoded = URLSession.forTest { $0.urlCache = cache }
        defer { decoded.invalidateAndCancel() }
        #expect(await encoded.load(server.url("/")).data == CodedBodies.gzip)
        #expect(await decoded.load(server.url("/")).data == CodedBodies.text)
        #expect(server.requestCount == 2)
    }

    @Test("A program's own cache is told the task's request, with its fields")
    func ownCache() async throws {
        final class OwnCache: URLCache, @unchecked Sendable {
            let kinds = Watched<[String?]>([])

            override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
                kinds.update { $0.append(request.value(forHTTPHeaderField: "X-Kind")) }
                return super.cachedResponse(for: request)
            }

            override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
                kinds.update { $0.append(request.value(forHTTPHeaderField: "X-Kind")) }
                super.storeCachedResponse(cachedResponse, for: request)
            }
        }
        let cache = OwnCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: "/dev/null/none")
        let rig = try Rig(Self.server()) { $0.urlCache = cache }
        defer { rig.stop() }
        _ = await rig.session.load(URLRequest(rig.url("/"), headers: ["X-Kind": "1"]))
        CacheStores.store(over: cache).waitForWrites()
        #expect(cache.kinds.value == ["1", "1"])
    }

    @Test("Sessions with one cache share it, and others don't")
    func sharing() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let first = URLSession.forTest()
        defer { first.invalidateAndCancel() }
        let second = URLSession.forTest { $0.urlCache = first.configuration.urlCache }
        defer { second.invalidateAndCancel() }
        let third = URLSession.forTest()
        defer { third.invalidateAndCancel() }
        #expect(await first.load(server.url("/")).text == "1")
        #expect(await second.load(server.url("/")).text == "1")
        #expect(await third.load(server.url("/")).text == "2")
        #expect(URLSessionConfiguration.default.urlCache === URLCache.shared)
    }

    // MARK: - willCacheResponse

    @Test("The delegate is asked after the body and before the completion, and what it answers is stored")
    func willCache() async throws {
        let delegate = CachingDelegate { proposed in
            CachedURLResponse(
                response: proposed.response,
                data: Data("changed ".utf8) + proposed.data,
                userInfo: ["own": "1"],
                storagePolicy: .allowed
            )
        }
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        #expect(try await delegate.load(rig.url("/"), rig.session) == ["data 1", "will cache 1", "completed"])
        try await delegate.answered(1)
        #expect(try await delegate.load(rig.url("/"), rig.session) == ["data changed 1", "completed"])
        let cache = try #require(rig.session.configuration.urlCache)
        CacheStores.store(over: cache).waitForWrites()
        #expect(cache.cachedResponse(for: URLRequest(url: rig.url("/")))?.userInfo?["own"] as? String == "1")
    }

    @Test("The delegate is asked on the delegate queue what to store, and nil prevents storing")
    func willNotCache() async throws {
        let delegate = CachingDelegate { _ in nil }
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        for number in 1...2 {
            let story = try await delegate.load(rig.url("/"), rig.session)
            #expect(story == ["data \(number)", "will cache \(number)", "completed"])
            try await delegate.answered(number)
        }
        #expect(delegate.queues.value.allSatisfy { $0 === rig.session.delegateQueue })
    }

    @Test("The delegate isn't asked about a response that must not be stored")
    func notAsked() async throws {
        let delegate = CachingDelegate { $0 }
        let rig = try Rig(delegate: delegate) { _ in .text("1").header("Cache-Control", "no-store") }
        defer { rig.stop() }
        #expect(try await delegate.load(rig.url("/"), rig.session) == ["data 1", "completed"])
    }
}

/// Writes down what concerns the cache, and answers `willCacheResponse`.
private final class CachingDelegate: NSObject, URLSessionDataDelegate {
    private let answer: @Sendable (CachedURLResponse) -> CachedURLResponse?
    private let events = Watched<[String]>([])
    private let answers = Watched(0)
    let queues = Watched<[OperationQueue?]>([])

    init(answer: @escaping @Sendable (CachedURLResponse) -> CachedURLResponse?) {
        self.answer = answer
    }

    func load(_ url: URL, _ session: URLSession) async throws -> [String] {
        events.update { $0 = [] }
        session.dataTask(with: url).resume()
        try await events.wait { $0.last == "completed" }
        return events.value
    }

    func answered(_ count: Int) async throws {
        try await answers.wait { $0 >= count }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        events.update { $0.append("data " + String(decoding: data, as: UTF8.self)) }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        queues.update { $0.append(OperationQueue.current) }
        events.update { $0.append("will cache " + String(decoding: proposedResponse.data, as: UTF8.self)) }
        completionHandler(answer(proposedResponse))
        answers.update { $0 += 1 }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.update { $0.append("completed") }
    }
}
