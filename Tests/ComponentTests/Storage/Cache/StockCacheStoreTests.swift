import CurlTransport
import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlNetworking

@Suite("A stock cache as sessions use it")
struct StockCacheStoreTests {
    private static let url = "http://example.com/a"
    /// Before the store begins to count its seconds.
    private let start = MonotonicTime.now

    private static func cache() -> URLCache {
        URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: "/dev/null/none")
    }

    private static func response(_ text: String, _ url: String = url) throws -> StoredResponse {
        try Sample.stored(text, at: url)
    }

    private static func lookUp(_ store: StockCacheStore, _ url: String = url) async throws -> StoredResponse? {
        let request = URLRequest(url: try Sample.url(url))
        return await withCheckedContinuation { continuation in
            store.lookUp(url, for: request) { continuation.resume(returning: $0) }
        }
    }

    /// The text that is known without a look; nil where a look is needed, "" for nothing.
    ///
    /// - Parameter isMuchLater: Otherwise it is asked as at the start, however long the test has taken.
    private func known(
        _ store: StockCacheStore,
        _ url: String = url,
        isMuchLater: Bool = false,
        isInsistent: Bool = false
    ) -> String? {
        let now = isMuchLater ? MonotonicTime.now + .seconds(100) : start
        return switch store.find(url, now: now, isInsistent: isInsistent) {
        case .known(let response): response.map { String(decoding: $0.data, as: UTF8.self) } ?? ""
        case .unknown: nil
        }
    }

    @Test("A response that wasn't found isn't looked for again for a second, unless a task relies on it")
    func absent() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        #expect(known(store) == nil)
        #expect(try await Self.lookUp(store) == nil)
        #expect(known(store) == "")
        #expect(known(store, isInsistent: true) == nil)
        #expect(known(store, isMuchLater: true) == nil)
    }

    @Test("Nothing is looked for in an empty cache")
    func empty() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        _ = try await Self.lookUp(store)
        #expect(known(store, "http://example.com/other") == "")
    }

    @Test("A response that the program itself stores is noticed within a second")
    func foreign() async throws {
        let cache = Self.cache()
        let store = StockCacheStore.store(over: cache)
        _ = try await Self.lookUp(store)
        try cache.storeCachedResponse(Self.response("x").cachedResponse, for: URLRequest(url: Sample.url(Self.url)))
        #expect(known(store) == "")
        #expect(known(store, isMuchLater: true) == nil)
        #expect(try await Self.lookUp(store)?.data == Data("x".utf8))
    }

    @Test("A stored response is there at once, and after it was written")
    func stored() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        _ = try await Self.lookUp(store)
        try store.store(Self.response("x"))
        #expect(try await Self.lookUp(store)?.data == Data("x".utf8))
        store.waitForWrites()
        #expect(known(store) == nil)
        let found = try #require(await Self.lookUp(store))
        #expect(found.data == Data("x".utf8))
        #expect(found.requested == Date(timeIntervalSince1970: 1.5))
        #expect(found.received == Date(timeIntervalSince1970: 2.25))
        #expect(found.variant == [HeaderField(name: "a", value: "b: c"), HeaderField(name: "d", value: "")])
        #expect(found.head["etag"] == "\"a\"")
    }

    @Test("A removed response is gone at once, and stays so")
    func removed() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        try store.store(Self.response("x"))
        try store.remove(Sample.url(Self.url + "#fragment"))
        #expect(try await Self.lookUp(store) == nil)
        store.waitForWrites()
        #expect(try await Self.lookUp(store) == nil)
        try store.store(Self.response("y"))
        store.removeAll()
        #expect(try await Self.lookUp(store) == nil)
    }

    @Test(
        "A removed response is gone in every spelling of its URL, which the stock cache takes for others",
        arguments: ["http://example.com", "http://example.com:80", "http://example.com:80/", "HTTP://EXAMPLE.com/"]
    )
    func spellings(url: String) throws {
        let cache = Self.cache()
        let store = StockCacheStore.store(over: cache)
        let request = URLRequest(url: try Sample.url(url))
        var response = try Self.response("x", "http://example.com/")
        response.request = request
        store.store(response)
        store.waitForWrites()
        #expect(cache.cachedResponse(for: request) != nil)
        try store.remove(Sample.url("http://example.com/"))
        store.waitForWrites()
        #expect(cache.cachedResponse(for: request) == nil)
    }

    @Test(
        "A response that is removed or replaced while it is looked for isn't found any more",
        arguments: ["", "all", "y"]
    )
    func overtaken(change: String) async throws {
        let cache = SlowCache()
        let store = StockCacheStore.store(over: cache)
        try store.store(Self.response("x"))
        store.waitForWrites()
        async let found = Self.lookUp(store)
        try await cache.hasRead.wait()
        switch change {
        case "": try store.remove(Sample.url(Self.url))
        case "all": store.removeAll()
        default: try store.store(Self.response(change))
        }
        store.waitForWrites()
        cache.mayReturn.open()
        #expect(try await found?.data == (change == "y" ? Data("y".utf8) : nil))
    }

    @Test("The last of many changes to one URL is what stays")
    func coalescing() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        for number in 1...1000 { try store.store(Self.response("\(number)")) }
        #expect(try await Self.lookUp(store)?.data == Data("1000".utf8))
        store.waitForWrites()
        #expect(try await Self.lookUp(store)?.data == Data("1000".utf8))
    }

    @Test("A response that is too large to be stored removes the one that it would replace")
    func tooMuch() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        try store.store(Self.response("x"))
        store.waitForWrites()
        try store.store(Self.response(String(repeating: "y", count: 17 << 20)))
        #expect(try await Self.lookUp(store) == nil)
        store.waitForWrites()
        #expect(try await Self.lookUp(store) == nil)
    }

    @Test("Responses that share the stock cache's key answer only their own URLs")
    func collisions() async throws {
        let store = StockCacheStore.store(over: Self.cache())
        try store.store(Self.response("x", Self.url + "?1"))
        store.waitForWrites()
        #expect(try await Self.lookUp(store, Self.url + "?2") == nil)
        #expect(try await Self.lookUp(store, Self.url + "?1") != nil)
    }

    @Test("One cache has one store, for as long as it is used")
    func identity() {
        let cache = Self.cache()
        let store = StockCacheStore.store(over: cache)
        #expect(StockCacheStore.store(over: cache) === store)
        #expect(StockCacheStore.store(over: Self.cache()) !== store)
    }

    @Test("A subclass of the program's is always asked")
    func subclass() async throws {
        final class OwnCache: URLCache, @unchecked Sendable {}
        let store = StockCacheStore.store(
            over: OwnCache(memoryCapacity: 1000, diskCapacity: 0, diskPath: "/dev/null/none")
        )
        _ = try await Self.lookUp(store)
        #expect(known(store) == nil)
    }

    @Test("A subclass of the program's is told of a removal even if it had nothing")
    func subclassRemoval() async throws {
        let cache = ToldCache()
        let store = StockCacheStore.store(over: cache)
        #expect(try await Self.lookUp(store) == nil)
        try store.remove(Sample.url(Self.url))
        store.waitForWrites()
        #expect(cache.isTold.isOpen)
    }
}

/// Notes that it is told to remove a response.
private final class ToldCache: URLCache, @unchecked Sendable {
    let isTold = Gate()

    init() {
        super.init(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: "/dev/null/none")
    }

    override func removeCachedResponse(for request: URLRequest) {
        isTold.open()
    }
}

/// Has read, and doesn't return before it may.
private final class SlowCache: URLCache, @unchecked Sendable {
    let hasRead = Gate()
    let mayReturn = Gate()

    init() {
        super.init(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: "/dev/null/none")
    }

    override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        let response = super.cachedResponse(for: request)
        hasRead.open()
        mayReturn.waitBlocking()
        return response
    }
}
