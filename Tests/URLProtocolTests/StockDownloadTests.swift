import CurlURLProtocol
import Foundation
import FoundationNetworking
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// The stock module gives protocol classes no way to hand over a file.
@Suite("A stock session's downloads, which our transport doesn't load", .timeLimit(.minutes(1)))
struct StockDownloadTests {
    @Test("A download with a delegate fails before anything is sent, and the error says what to do instead")
    func delegate() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        let state = try await delegate.end()
        #expect(state.ends == [.cannotCreateFile])
        #expect(state.events.isEmpty)
        let text = try #require(state.endTexts.first)
        #expect(text.contains("download") && text.contains("data task") && text.contains("CurlNetworking"))
        #expect(server.connectionCount == 0)
    }

    @Test("A download with a handler fails with cannotCreateFile", arguments: [1, 4])
    func handler(width: Int) async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        let session = StockSession.make(queue: queue)
        defer { session.finishTasksAndInvalidate() }
        let (file, response, error) = await withCheckedContinuation { continuation in
            session.downloadTask(with: server.url("/")) { continuation.resume(returning: ($0, $1, $2)) }.resume()
        }
        #expect(file == nil && response == nil)
        #expect((error as? URLError)?.code == .cannotCreateFile)
        #expect((error as? URLError)?.failingURL == server.url("/"))
        #expect(server.connectionCount == 0)
    }

    @Test("An async download fails with cannotCreateFile")
    func async() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let error = await #expect(throws: URLError.self) { _ = try await session.download(from: server.url("/")) }
        #expect(error?.code == .cannotCreateFile)
        #expect(server.connectionCount == 0)
    }

    @Test("A session with a download loads its other tasks all the same, and ends once they are done")
    func others() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let delegate = InvalidationDelegate()
        let session = StockSession.make(delegate: delegate)
        session.downloadTask(with: server.url("/download")).resume()
        let (data, _) = try await session.data(from: server.url("/data"))
        #expect(data == Data("content".utf8))
        session.finishTasksAndInvalidate()
        try await delegate.isInvalid.wait { $0 }
        #expect(server.requests.map(\.path) == ["/data"])
        #expect(server.hasOurRequestsOnly)
    }
}

private final class InvalidationDelegate: NSObject, URLSessionDelegate, Sendable {
    let isInvalid = Watched(false)

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        isInvalid.update { $0 = true }
    }
}
