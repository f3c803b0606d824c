import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("CurlURLCache, in URLCache's place")
struct CurlURLCacheTests {
    private static func response(_ text: String, at url: String, userInfo: [AnyHashable: Any]? = nil) throws
        -> CachedURLResponse
    {
        let response = HTTPURLResponse(
            url: try #require(URL(string: url)),
            statusCode: 203,
            httpVersion: "HTTP/1.1",
            headerFields: ["X-Own": "1"]
        )
        return CachedURLResponse(
            response: try #require(response),
            data: Data(text.utf8),
            userInfo: userInfo,
            storagePolicy: .allowed
        )
    }

    private static func request(_ url: String) throws -> URLRequest {
        URLRequest(url: try #require(URL(string: url)))
    }

    @Test("A response that a program stores is found by its whole URL, by this object and by another")
    func roundTrip() throws {
        let directory = try TemporaryDirectory()
        let date = Date(timeIntervalSinceReferenceDate: 12345)
        for round in 1...2 {
            let cache: URLCache = CurlURLCache(
                memoryCapacity: 1 << 20,
                diskCapacity: 1 << 20,
                diskPath: directory.url.path
            )
            if round == 1 {
                try cache.storeCachedResponse(
                    Self.response(
                        "body",
                        at: "http://a/?1",
                        userInfo: ["text": "t", "number": 7, "date": date, "odd": Data.self]
                    ),
                    for: Self.request("http://a/?1#x")
                )
            }
            let found = try #require(cache.cachedResponse(for: Self.request("http://a/?1")))
            #expect(found.data == Data("body".utf8))
            #expect((found.response as? HTTPURLResponse)?.statusCode == 203)
            #expect((found.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "x-own") == "1")
            #expect(found.userInfo?.count == 4)
            #expect(found.userInfo?["text"] as? String == "t")
            #expect(found.userInfo?["number"] as? Int == 7)
            #expect(found.userInfo?["date"] as? Date == date)
            #expect(found.userInfo?["odd"] as? String == "Data")
            for other in ["http://a/?2", "https://a/?1", "http://b/?1", "http://a/"] {
                #expect(try cache.cachedResponse(for: Self.request(other)) == nil, "\(other)")
            }
        }
    }

    @Test("How a URL is written makes no difference to what is found, and a user name does")
    func spellings() throws {
        let cache = CurlURLCache(memoryCapacity: 1 << 20)
        try cache.storeCachedResponse(Self.response("x", at: "http://a:80?1"), for: Self.request("http://a:80?1"))
        #expect(try cache.cachedResponse(for: Self.request("http://a/?1"))?.userInfo == nil)
        for same in ["http://a/?1", "HTTP://A/?1", "http://a?1#x"] {
            #expect(try cache.cachedResponse(for: Self.request(same)) != nil, "\(same)")
        }
        for other in ["http://u:p@a/?1", "http://a:81/?1", "http://a/?"] {
            #expect(try cache.cachedResponse(for: Self.request(other)) == nil, "\(other)")
        }
    }

    @Test("A response that is none of HTTP stays what it is")
    func plainResponse() throws {
        let directory = try TemporaryDirectory()
        let url = try #require(URL(string: "custom:thing"))
        let response = URLResponse(url: url, mimeType: "text/x", expectedContentLength: 4, textEncodingName: "utf-8")
        for round in 1...2 {
            let cache = CurlURLCache(memoryCapacity: 0, diskCapacity: 1 << 20, diskPath: directory.url.path)
            if round == 1 {
                cache.storeCachedResponse(
                    CachedURLResponse(response: response, data: Data("body".utf8)),
                    for: URLRequest(url: url)
                )
            }
            let found = try #require(cache.cachedResponse(for: URLRequest(url: url))?.response)
            #expect(found.url == url)
            #expect(found.mimeType == "text/x")
            #expect(found.expectedContentLength == 4)
            #expect(found.textEncodingName == "utf-8")
        }
    }

    @Test("A program can remove one response, those since a date, or all")
    func removing() throws {
        let directory = try TemporaryDirectory()
        let cache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, diskPath: directory.url.path)
        func paths() throws -> [Int] {
            try (1...4).filter { try cache.cachedResponse(for: Self.request("http://a/\($0)")) != nil }
        }
        for number in 1...2 {
            try cache.storeCachedResponse(
                Self.response("x", at: "http://a/\(number)"),
                for: Self.request("http://a/\(number)")
            )
        }
        let date = Date()
        for number in 3...4 {
            try cache.storeCachedResponse(
                Self.response("x", at: "http://a/\(number)"),
                for: Self.request("http://a/\(number)")
            )
        }
        #expect(cache.currentDiskUsage == 4 * 4096)
        #expect(cache.currentMemoryUsage > 0)
        cache.removeCachedResponses(since: date)
        #expect(try paths() == [1, 2])
        try cache.removeCachedResponse(for: Self.request("http://a/1"))
        #expect(try paths() == [2])
        cache.removeAllCachedResponses()
        #expect(try paths() == [])
        #expect(cache.currentDiskUsage == 0)
        #expect(cache.currentMemoryUsage == 0)
    }

    @Test("The methods that take a task work on CurlURLCache")
    func tasks() async throws {
        let cache = CurlURLCache(memoryCapacity: 1 << 20)
        let session = URLSession.forTest { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://a/1")))
        try cache.storeCachedResponse(Self.response("x", at: "http://a/1"), for: task)
        let found = await withCheckedContinuation { continuation in
            cache.getCachedResponse(for: task) { continuation.resume(returning: $0?.data) }
        }
        #expect(found == Data("x".utf8))
        cache.removeCachedResponse(for: task)
        #expect(try cache.cachedResponse(for: Self.request("http://a/1")) == nil)
    }

    @Test("Configurations have a CurlURLCache, and URLCache.shared becomes one")
    func defaults() throws {
        let cache = try #require(URLSessionConfiguration.default.urlCache as? CurlURLCache)
        #expect(URLCache.shared === cache)
        #expect(URLSessionConfiguration.default.urlCache === cache)
        #expect(cache.memoryCapacity == 4 << 20)
        #expect(cache.diskCapacity == 20 << 20)
        let ephemeral = try #require(URLSessionConfiguration.ephemeral.urlCache as? CurlURLCache)
        #expect(ephemeral !== cache)
        #expect(ephemeral.currentDiskUsage == 0)
    }

    @Test("A shared cache that a program has set, or changed, is left alone")
    func untouched() throws {
        let directory = try TemporaryDirectory()
        func cache(_ memory: Int, _ disk: Int, _ path: String?) -> URLCache {
            URLCache(memoryCapacity: memory, diskCapacity: disk, diskPath: path)
        }
        // As the stock module makes it.
        #expect(CurlURLCache.isUntouched(cache(4 << 20, 20 << 20, nil)))
        #expect(!CurlURLCache.isUntouched(cache(8 << 20, 20 << 20, nil)))
        #expect(!CurlURLCache.isUntouched(cache(4 << 20, 0, nil)))
        #expect(!CurlURLCache.isUntouched(cache(4 << 20, 20 << 20, directory.url.path)))
        #expect(!CurlURLCache.isUntouched(CurlURLCache(memoryCapacity: 4 << 20)))
        final class Own: URLCache, @unchecked Sendable {}
        #expect(!CurlURLCache.isUntouched(Own(memoryCapacity: 4 << 20, diskCapacity: 20 << 20, diskPath: nil)))
    }
}
