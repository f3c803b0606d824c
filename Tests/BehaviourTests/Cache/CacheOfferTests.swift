import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("What is stored without being of use right away", .timeLimit(.minutes(1)))
struct CacheOfferTests {
    private final class Delegate: NSObject, URLSessionDataDelegate {
        let asked = Watched(0)
        let completed = Watched(0)

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            asked.update { $0 += 1 }
            completionHandler(proposedResponse)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            completed.update { $0 += 1 }
        }
    }

    @Test(
        "Without freshness and validator a response is offered and stored; don't-load finds it, and others ask again",
        arguments: ["", "max-age=0", "no-cache", "private"]
    )
    func offered(control: String) async throws {
        let count = Counter()
        let server = try LoopbackServer { _ in
            let response = LoopbackServer.Response.text("\(count.next())")
            return control.isEmpty ? response : response.header("Cache-Control", control)
        }
        defer { server.stop() }
        let delegate = Delegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let stored = URLRequest(url: server.url("/"), cachePolicy: .returnCacheDataDontLoad)
        for number in 1...2 {
            session.dataTask(with: server.url("/")).resume()
            try await delegate.completed.wait { $0 == number }
            #expect(delegate.asked.value == number)
            #expect(await session.load(stored).text == "\(number)")
        }
        #expect(server.requestCount == 2)
    }

    @Test("What must not be stored isn't offered", arguments: ["no-store", "Vary"])
    func notOffered(kind: String) async throws {
        let server = try LoopbackServer { _ in
            kind == "Vary" ? .text("1").header("Vary", "*") : .text("1").header("Cache-Control", "no-store")
        }
        defer { server.stop() }
        let delegate = Delegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: server.url("/")).resume()
        try await delegate.completed.wait { $0 == 1 }
        #expect(delegate.asked.value == 0)
        let stored = URLRequest(url: server.url("/"), cachePolicy: .returnCacheDataDontLoad)
        #expect(await session.load(stored).error?.code == .resourceUnavailable)
    }
}
