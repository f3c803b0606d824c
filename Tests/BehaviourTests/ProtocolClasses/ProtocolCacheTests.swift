import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Protocol classes and the session's cache", .timeLimit(.minutes(1)))
struct ProtocolCacheTests {
    /// Uses what it is given, and else says how often it was asked.
    private final class Caching: MockProtocol, @unchecked Sendable {
        override func startLoading() {
            super.startLoading()
            guard request.url?.path != "/broken" else { return }
            if let cachedResponse {
                client?.urlProtocol(self, cachedResponseIsValid: cachedResponse)
                if request.url?.path == "/explicit" {
                    client?.urlProtocol(self, didReceive: cachedResponse.response, cacheStoragePolicy: .notAllowed)
                    client?.urlProtocol(self, didLoad: cachedResponse.data)
                }
            } else {
                let path = request.url?.path
                respond(
                    200,
                    path == "/varies" ? ["Vary": "X-Kind"] : [:],
                    storage: path == "/never" ? .notAllowed : path == "/memory" ? .allowedInMemoryOnly : .allowed
                )
                send("loaded")
            }
            finish()
        }
    }

    private func session(_ network: MockNetwork, delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        network.session(delegate: delegate, classes: [Caching.self])
    }

    private func stored(_ session: URLSession, _ url: URL) -> CachedURLResponse? {
        guard let cache = session.configuration.urlCache else { return nil }
        CacheStores.store(over: cache).waitForWrites()
        return cache.cachedResponse(for: URLRequest(url: url))
    }

    /// Answers once a gate is open.
    private final class StuckCache: URLCache, @unchecked Sendable {
        let gate = Gate()

        override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
            gate.waitBlocking()
            return nil
        }
    }

    @Test("A cache that doesn't answer keeps no class from loading")
    func stuck() async throws {
        let network = MockNetwork { _ in }
        let cache = StuckCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        defer { cache.gate.open() }
        let session = network.session(classes: [Caching.self]) { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url("/a")).text == "loaded")
    }

    @Test(
        "A response that the class allows to be stored is given to the next object",
        arguments: ["/a", "/explicit", "/memory"]
    )
    func stores(path: String) async throws {
        let network = MockNetwork { _ in }
        let session = session(network)
        defer { session.invalidateAndCancel() }
        let url = network.url(path)
        #expect(await session.load(url).text == "loaded")
        let stored = stored(session, url)
        #expect(stored?.data == Data("loaded".utf8))
        #expect(stored?.storagePolicy == (path == "/memory" ? .allowedInMemoryOnly : .allowed))
        // The class's second answer would be the same; what counts is that it was given the first.
        let tampered = CachedURLResponse(
            response: try #require(stored?.response),
            data: Data("from the cache".utf8)
        )
        let cache = try #require(session.configuration.urlCache)
        cache.removeCachedResponse(for: URLRequest(url: url))
        cache.storeCachedResponse(tampered, for: URLRequest(url: url))
        let (data, response) = try await session.data(from: url)
        #expect(data == Data("from the cache".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test(
        "A response that is stored for another user, or is another variant, isn't given to the next object",
        arguments: [("/a", "Authorization"), ("/varies", "X-Kind")]
    )
    func variants(path: String, field: String) async throws {
        let network = MockNetwork { _ in }
        let session = session(network)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: network.url(path))
        request.setValue("1", forHTTPHeaderField: field)
        #expect(await session.load(request).text == "loaded")
        let first = try #require(stored(session, network.url(path)))
        let tampered = CachedURLResponse(
            response: first.response,
            data: Data("from the cache".utf8),
            userInfo: first.userInfo,
            storagePolicy: first.storagePolicy
        )
        session.configuration.urlCache?.storeCachedResponse(tampered, for: request)
        #expect(await session.load(request).text == "from the cache")
        request.setValue("2", forHTTPHeaderField: field)
        #expect(await session.load(request).text == "loaded")
    }

    @Test("A response is stored only if the class allows it, and only for a complete GET of a data task")
    func storesNot() async throws {
        let network = MockNetwork { load in
            if load.request.url?.path == "/broken" {
                load.respond(200, storage: .allowed)
                load.send("loa")
                load.fail(URLError(.networkConnectionLost))
            }
        }
        let session = session(network)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url("/never")).text == "loaded")
        #expect(await session.load(URLRequest(network.url("/post"), method: "POST")).text == "loaded")
        _ = try await session.upload(for: URLRequest(network.url("/upload"), method: "PUT"), from: Data("a".utf8))
        let (file, _) = try await session.download(from: network.url("/download"))
        try FileManager.default.removeItem(at: file)
        #expect(await session.load(network.url("/broken")).error?.code == .networkConnectionLost)
        for path in ["/never", "/post", "/upload", "/download", "/broken"] {
            #expect(stored(session, network.url(path)) == nil, "\(path)")
        }
    }

    /// Loads with a stored response that isn't the class's own.
    private func load(_ configure: (inout URLRequest) -> Void) async throws -> String? {
        let network = MockNetwork { _ in }
        let session = session(network)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "loaded")
        #expect(stored(session, network.url()) != nil)
        let cache = try #require(session.configuration.urlCache)
        var request = URLRequest(network.url())
        let response = try #require(cache.cachedResponse(for: request)?.response)
        cache.removeCachedResponse(for: request)
        cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("old".utf8)), for: request)
        configure(&request)
        return await session.load(request).text
    }

    @Test("A request that wants nothing stored is given nothing")
    func reload() async throws {
        #expect(try await load { $0.cachePolicy = .reloadIgnoringLocalCacheData } == "loaded")
    }

    @Test(
        "A request whose fields forbid a stored response is given none, and one with no-cache is",
        arguments: [
            ("Cache-Control", "no-store", "loaded"), ("Cache-Control", "no-cache", "old"),
            ("Range", "bytes=1-", "loaded"), ("If-None-Match", "\"a\"", "loaded"),
        ]
    )
    func fields(_ name: String, _ value: String, _ text: String) async throws {
        #expect(try await load { $0.setValue(value, forHTTPHeaderField: name) } == text)
    }

    @Test(
        "A class's successful answer to an unsafe method removes what is stored for the URL",
        arguments: [(200, true), (500, false)]
    )
    func unsafe(status: Int, removes: Bool) async throws {
        let network = MockNetwork { loading in
            let isSafe = loading.request.httpMethod == "GET"
            loading.respond(isSafe ? 200 : status, storage: isSafe ? .allowed : .notAllowed)
            loading.finish()
        }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        _ = await session.load(network.url())
        #expect(stored(session, network.url()) != nil)
        #expect(await session.load(URLRequest(network.url(), method: "POST")).response?.statusCode == status)
        #expect((stored(session, network.url()) == nil) == removes)
    }

    @Test(
        "Nothing is stored for a request with no-store or a range",
        arguments: [("Cache-Control", "no-store"), ("Range", "bytes=1-")]
    )
    func unstored(_ name: String, _ value: String) async throws {
        let network = MockNetwork { _ in }
        let session = session(network)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(network.url())
        request.setValue(value, forHTTPHeaderField: name)
        #expect(await session.load(request).text == "loaded")
        #expect(stored(session, network.url()) == nil)
    }

    @Test(
        "The delegate is asked what is stored: as it is, changed, or not at all",
        arguments: ["keep", "change", "refuse"]
    )
    func willCache(answer: String) async throws {
        final class Delegate: NSObject, URLSessionDataDelegate {
            let answer: String
            let asked = Watched<[CachedURLResponse]>([])
            let completed = Watched(false)
            init(_ answer: String) { self.answer = answer }

            func urlSession(
                _ session: URLSession,
                dataTask: URLSessionDataTask,
                willCacheResponse proposedResponse: CachedURLResponse,
                completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
            ) {
                asked.update { $0.append(proposedResponse) }
                let changed = CachedURLResponse(response: proposedResponse.response, data: Data("changed".utf8))
                completionHandler(answer == "keep" ? proposedResponse : answer == "change" ? changed : nil)
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.update { $0 = true }
            }
        }
        let network = MockNetwork { _ in }
        let delegate = Delegate(answer)
        let session = session(network, delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: network.url()).resume()
        try await delegate.completed.wait { $0 }
        #expect(delegate.asked.value.map(\.data) == [Data("loaded".utf8)])
        let data = stored(session, network.url())?.data
        #expect(data.map { String(decoding: $0, as: UTF8.self) } == ["keep": "loaded", "change": "changed"][answer])
    }

    @Test("Without a cache nothing is looked for or stored")
    func noCache() async throws {
        let network = MockNetwork { _ in }
        let session = network.session(classes: [Caching.self]) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "loaded")
        #expect(await session.load(network.url()).text == "loaded")
    }
}
