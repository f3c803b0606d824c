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
        "After a reload: no-store, an error, too large with and without a length, a redirect",
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

    @Test("After a validation, too")
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

    @Test("What the delegate doesn't let be stored drops it as well")
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

    @Test("So does one whose task became a download")
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

    @Test("What is no answer about the whole leaves it alone", arguments: ["Range", "If-None-Match", "If-Match"])
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
