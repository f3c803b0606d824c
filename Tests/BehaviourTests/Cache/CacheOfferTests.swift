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
        let delegate = Delegate()
        let rig = try Rig(delegate: delegate) { _ in
            let response = LoopbackServer.Response.text("\(count.next())")
            return control.isEmpty ? response : response.header("Cache-Control", control)
        }
        defer { rig.stop() }
        let stored = URLRequest(url: rig.url("/"), cachePolicy: .returnCacheDataDontLoad)
        for number in 1...2 {
            rig.session.dataTask(with: rig.url("/")).resume()
            try await delegate.completed.wait { $0 == number }
            #expect(delegate.asked.value == number)
            #expect(await rig.session.load(stored).text == "\(number)")
        }
        #expect(rig.server.requestCount == 2)
    }

    @Test("A response that must not be stored isn't offered", arguments: ["no-store", "Vary"])
    func notOffered(kind: String) async throws {
        let delegate = Delegate()
        let rig = try Rig(delegate: delegate) { _ in
            kind == "Vary" ? .text("1").header("Vary", "*") : .text("1").header("Cache-Control", "no-store")
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.completed.wait { $0 == 1 }
        #expect(delegate.asked.value == 0)
        let stored = URLRequest(url: rig.url("/"), cachePolicy: .returnCacheDataDontLoad)
        #expect(await rig.session.load(stored).error?.code == .resourceUnavailable)
    }
}
