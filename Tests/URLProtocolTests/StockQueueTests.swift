import CurlURLProtocol
import Foundation
import FoundationNetworking
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Where a stock session is told about a load on our transport", .timeLimit(.minutes(1)))
struct StockQueueTests {
    @Test("A load's client is called in order, and only on the session's work queue, as by stock protocols")
    func workQueue() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        let url = server.url("/")
        let session = StockSession.make { $0.protocolClasses = [SpiedProtocol.self] }
        defer { session.finishTasksAndInvalidate() }
        Spy.mark(try #require(Mirror(reflecting: session).descendant("workQueue") as? DispatchQueue))
        let (data, _) = try await session.data(from: url)
        #expect(data == Data("hello".utf8))
        #expect(Spy.calls.value == ["response", "body", "end"])
        server.stop()
        await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
        #expect(Spy.calls.value == ["response", "body", "end", "failure"])
    }
}

/// Has a spy for its client.
private final class SpiedProtocol: CurlURLProtocol {
    override func startLoading() {
        if let client, !(client is Spy) { self.client = Spy(client) }
        super.startLoading()
    }
}

/// Notes each call and, if that doesn't come on a marked queue, that it comes from elsewhere. Passes it on.
private final class Spy: NSObject, URLProtocolClient {
    static let calls = Watched<[String]>([])
    private static let key = DispatchSpecificKey<Bool>()

    private let client: any URLProtocolClient

    init(_ client: any URLProtocolClient) {
        self.client = client
    }

    static func mark(_ queue: DispatchQueue) {
        queue.setSpecific(key: key, value: true)
    }

    private func note(_ name: String) {
        let isOnQueue = DispatchQueue.getSpecific(key: Self.key) == true
        Self.calls.update { $0.append(isOnQueue ? name : "\(name) from elsewhere") }
    }

    func urlProtocol(
        _ urlProtocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        note("response")
        client.urlProtocol(urlProtocol, didReceive: response, cacheStoragePolicy: policy)
    }

    func urlProtocol(_ urlProtocol: URLProtocol, didLoad data: Data) {
        note("body")
        client.urlProtocol(urlProtocol, didLoad: data)
    }

    func urlProtocolDidFinishLoading(_ urlProtocol: URLProtocol) {
        note("end")
        client.urlProtocolDidFinishLoading(urlProtocol)
    }

    func urlProtocol(_ urlProtocol: URLProtocol, didFailWithError error: any Error) {
        note("failure")
        client.urlProtocol(urlProtocol, didFailWithError: error)
    }

    func urlProtocol(
        _ urlProtocol: URLProtocol,
        wasRedirectedTo request: URLRequest,
        redirectResponse: URLResponse
    ) {
        note("redirect")
        client.urlProtocol(urlProtocol, wasRedirectedTo: request, redirectResponse: redirectResponse)
    }

    func urlProtocol(_ urlProtocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        note("cached response")
        client.urlProtocol(urlProtocol, cachedResponseIsValid: cachedResponse)
    }

    func urlProtocol(_ urlProtocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        note("challenge")
        client.urlProtocol(urlProtocol, didReceive: challenge)
    }

    func urlProtocol(_ urlProtocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        note("end of a challenge")
        client.urlProtocol(urlProtocol, didCancel: challenge)
    }
}
