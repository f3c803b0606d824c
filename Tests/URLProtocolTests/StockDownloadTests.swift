import CurlURLProtocol
import Foundation
import FoundationNetworking
import LoopbackServer
import TestSupport
import Testing

@Suite("The files of a stock session's downloads on our transport", .timeLimit(.minutes(1)))
struct StockDownloadTests {
    /// When a task's handler is called, what was to follow the one before has happened: both go through the delegate queue.
    @Test("A file that the handler leaves behind is removed", arguments: [1, 4])
    func handler(width: Int) async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        let session = StockSession.make(queue: queue)
        defer { session.finishTasksAndInvalidate() }
        let (left, content) = await session.downloaded(server.url("/left"))
        #expect(content == Data("content".utf8))
        _ = await session.downloaded(server.url("/next"))
        #expect(try !FileManager.default.fileExists(atPath: #require(left).path))
    }

    @Test("A file that the handler moves stays where it was moved to")
    func moved() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("mine")
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        _ = await session.downloaded(server.url("/")) { try? FileManager.default.moveItem(at: $0, to: file) }
        _ = await session.downloaded(server.url("/next"))
        #expect(try Data(contentsOf: file) == Data("content".utf8))
    }

    @Test("A file that the delegate leaves behind is removed")
    func delegate() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.downloadTask(with: server.url("/left")).resume()
        let left = try await delegate.end()
        #expect(left.file == Data("content".utf8))
        session.downloadTask(with: server.url("/next")).resume()
        try await delegate.state.wait { $0.ends.count == 2 }
        #expect(try !FileManager.default.fileExists(atPath: #require(left.location).path))
    }

    @Test("Where nobody is told of the file, it is removed as well")
    func nobody() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let before = try Self.files()
        let queue = WatchedQueue()
        let session = StockSession.make(queue: queue)
        defer { session.finishTasksAndInvalidate() }
        session.downloadTask(with: server.url("/left")).resume()
        try await queue.barriers.wait { $0 == 1 }
        await withCheckedContinuation { continuation in queue.addBarrierBlock { continuation.resume() } }
        #expect(try Self.files().subtracting(before).isEmpty)
    }

    @Test("An async method's caller keeps the file")
    func async() async throws {
        let server = try LoopbackServer { _ in .text("content") }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (file, _) = try await session.download(from: server.url("/"))
        _ = await session.downloaded(server.url("/next"))
        #expect(try Data(contentsOf: file) == Data("content".utf8))
        try FileManager.default.removeItem(at: file)
    }

    @Test("A cancelled download leaves nothing behind")
    func cancelled() async throws {
        let server = try LoopbackServer { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { server.stop() }
        let before = try Self.files()
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await delegate.state.wait { $0.written > 0 }
        task.cancel()
        #expect(try await delegate.end().ends == [.cancelled])
        #expect(try Self.files().subtracting(before).isEmpty)
    }

    /// The files that stock sessions were given and haven't been taken away from them.
    private static func files() throws -> Set<String> {
        let directory = FileManager.default.temporaryDirectory.path
        return Set(
            try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix("CurlURLProtocol-") }
        )
    }
}

/// Tells when it has been given something to do behind all the rest.
private final class WatchedQueue: OperationQueue, @unchecked Sendable {
    // @unchecked as its superclass is; the counter is safe to use from any thread.
    let barriers = Watched(0)

    override func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        super.addBarrierBlock(barrier)
        barriers.update { $0 += 1 }
    }
}

extension URLSession {
    /// What a download task's handler is given, and what it found there.
    fileprivate func downloaded(
        _ url: URL,
        _ action: @escaping @Sendable (URL) -> Void = { _ in }
    ) async -> (URL?, Data?) {
        await withCheckedContinuation { continuation in
            downloadTask(with: url) { file, _, _ in
                let content = file.flatMap { try? Data(contentsOf: $0) }
                if let file { action(file) }
                continuation.resume(returning: (file, content))
            }.resume()
        }
    }
}
