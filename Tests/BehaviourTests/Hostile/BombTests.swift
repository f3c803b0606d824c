import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Small bodies that decode to large ones", .timeLimit(.minutes(2)))
struct BombTests {
    struct Bomb: Sendable, CustomTestStringConvertible {
        let coding: String
        let coded: Data
        let length: Int64
        var testDescription: String { coding }

        init(_ coding: String, _ bomb: (coded: Data, length: Int64)) {
            (self.coding, coded, length) = (coding, bomb.coded, bomb.length)
        }

        /// About 2.5 KB that decode to 3 GiB.
        static let brotli = Bomb("br", Bombs.brotli(mebibytes: 3072))
        static let zstd = Bomb("zstd", Bombs.zstd(mebibytes: 16 << 10))
        static let gzip = Bomb("gzip, gzip", Bombs.doublyZipped)
        static let all = [brotli, zstd, gzip]
        /// More than can be decoded in the time that a test has: 300 GiB.
        static let endless = Bomb("br", Bombs.brotli(mebibytes: 300 << 10))

        var response: LoopbackServer.Response { .data(coded).header("Content-Encoding", coding) }
    }

    /// What may have been decoded for a program that takes nothing: the documented limit, and one step of a decoder.
    private static let limit = Int64(URLSession.AsyncBytes.maximumWaitingBytes + 32 * 1024)

    private func serve(_ bomb: Bomb) throws -> LoopbackServer {
        try LoopbackServer { $0.path == "/bomb" ? bomb.response : .text("hello") }
    }

    /// Has the session's loop do something else until the condition holds, and ten times more.
    private func neighbours(
        of session: URLSession,
        at server: LoopbackServer,
        until condition: () -> Bool = { true }
    ) async throws {
        var rest = 10
        while rest > 0 {
            #expect(try await session.data(from: server.url("/small")).0 == Data("hello".utf8))
            if condition() { rest -= 1 }
        }
    }

    @Test("The brotli sample decodes to as much as it is said to")
    func size() {
        #expect(Bomb.brotli.coded.count < 2600 && Bomb.brotli.length > 3 << 30)
        #expect(Bomb.gzip.coded.count < 300)
    }

    @Test("No more of a body is decoded than the limit says while the reader reads nothing", arguments: Bomb.all)
    func reader(bomb: Bomb) async throws {
        let server = try serve(bomb)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (bytes, response) = try await session.bytes(from: server.url("/bomb"))
        #expect(response.expectedContentLength == NSURLSessionTransferSizeUnknown)
        let waiting = Int64(URLSession.AsyncBytes.maximumWaitingBytes)
        try await neighbours(of: session, at: server) { bytes.task.countOfBytesReceived >= waiting }
        #expect(bytes.task.countOfBytesReceived <= Self.limit)
        // It goes on as far as it is read.
        var iterator = bytes.chunks.makeAsyncIterator()
        var count: Int64 = 0
        while count < 8 << 20, let chunk = try await iterator.next() { count += Int64(chunk.count) }
        try await neighbours(of: session, at: server)
        #expect(bytes.task.countOfBytesReceived <= count + Self.limit)
        bytes.task.cancel()
    }

    @Test("No more of a body is decoded than the limit says while the delegate doesn't return", arguments: Bomb.all)
    func delegate(bomb: Bomb) async throws {
        let server = try serve(bomb)
        defer { server.stop() }
        let gate = Gate()
        let delegate = RecordingDelegate(
            keepsBodies: false,
            onEvent: { _, event in
                if case .data = event { gate.waitBlocking() }
            }
        )
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/bomb"))
        task.resume()
        let waiting = Int64(URLSession.AsyncBytes.maximumWaitingBytes)
        try await neighbours(of: session, at: server) { task.countOfBytesReceived >= waiting }
        #expect(task.countOfBytesReceived <= Self.limit)
        task.cancel()
        gate.open()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("Other tasks on the loop are served while a body that grows is decoded", arguments: [Bomb.endless, .zstd])
    func bystander(bomb: Bomb) async throws {
        let server = try serve(bomb)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let count = Watched<Int64>(0)
        let reading = Task {
            for try await chunk in try await session.bytes(from: server.url("/bomb")).0.chunks {
                count.update { $0 += Int64(chunk.count) }
            }
        }
        try await count.wait { $0 > 1 << 20 }
        // One of them would have waited for all of the bomb.
        let before = count.value
        for _ in 0..<50 { _ = try await session.data(from: server.url("/small")) }
        #expect(count.value < bomb.length)
        // It is decoded meanwhile, though its reader may have to wait for its turn.
        try await neighbours(of: session, at: server) { count.value > before }
        reading.cancel()
        _ = await reading.result
    }

    @Test("Other tasks on the loop are served while many bodies are decoded into memory and files")
    func many() async throws {
        let server = try serve(.gzip)
        defer { server.stop() }
        let session = URLSession.forTest { $0.httpMaximumConnectionsPerHost = 32 }
        defer { session.invalidateAndCancel() }
        let url = server.url("/bomb")
        let finished = Watched(0)
        try await withThrowingTaskGroup { group in
            for index in 0..<8 {
                group.addTask {
                    if index.isMultiple(of: 2) {
                        #expect(try await session.data(from: url).0.count == Bomb.gzip.length)
                    } else {
                        let (file, _) = try await session.download(from: url)
                        defer { try? FileManager.default.removeItem(at: file) }
                        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64
                        #expect(size == Bomb.gzip.length)
                    }
                    finished.update { $0 += 1 }
                }
            }
            try await server.waitForRequests(8)
            for _ in 0..<20 { _ = try await session.data(from: server.url("/small")) }
            #expect(finished.value < 8, "512 MiB take longer than twenty small requests")
            try await group.waitForAll()
        }
    }

    @Test("A task can be cancelled while its body is decoded", arguments: [false, true])
    func cancelling(isDownload: Bool) async throws {
        let server = try serve(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate(keepsBodies: false)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = server.url("/bomb")
        let task = isDownload ? session.downloadTask(with: url) : session.dataTask(with: url)
        task.resume()
        try await delegate.wait(for: task) { ["data", "wrote"].contains($0.name) }
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("The resource time-out ends a task while its body is decoded")
    func timeout() async throws {
        let server = try serve(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate(keepsBodies: false)
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForResource = 1 }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/bomb"))
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .timedOut)
    }

    @Test("Suspending a task stops the decoding of its body, and resuming goes on where it was")
    func suspending() async throws {
        let server = try serve(.gzip)
        defer { server.stop() }
        let isSuspended = Watched(false)
        let delegate = RecordingDelegate(
            keepsBodies: false,
            onEvent: { task, event in
                guard case .data = event, !isSuspended.value else { return }
                task?.suspend()
                isSuspended.update { $0 = true }
            }
        )
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/bomb"))
        task.resume()
        try await isSuspended.wait { $0 }
        // The loop has heard of it once it has served others.
        try await neighbours(of: session, at: server)
        let count = task.countOfBytesReceived
        try await neighbours(of: session, at: server)
        #expect(task.countOfBytesReceived == count && count < Bomb.gzip.length)
        #expect(task.state == .suspended && delegate.completionCount(of: task) == 0)
        task.resume()
        try await delegate.success(of: task)
        let received = delegate.events(of: task).reduce(0) { sum, event in
            if case .data(let count) = event { sum + count } else { sum }
        }
        #expect(Int64(received) == Bomb.gzip.length && task.countOfBytesReceived == Bomb.gzip.length)
    }

    @Test("A body that has come in full has left its connection to others, and completes when it was read")
    func connection() async throws {
        let server = try serve(.gzip)
        defer { server.stop() }
        let session = URLSession.forTest { $0.useOneConnection() }
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: server.url("/bomb"))
        try await neighbours(of: session, at: server)
        #expect(server.connectionCount == 1)
        #expect(bytes.task.state == .running)
        var count: Int64 = 0
        for try await chunk in bytes.chunks {
            #expect(chunk == Data(count: chunk.count))
            count += Int64(chunk.count)
        }
        #expect(count == Bomb.gzip.length)
    }

    @Test("A data task that becomes a download has all of it in its file")
    func becomesDownload() async throws {
        let server = try serve(.gzip)
        defer { server.stop() }
        let size = Watched<Int?>(nil)
        let delegate = RecordingDelegate(
            onResponse: { _, _, answer in answer(.becomeDownload) },
            onDownload: { url in size.update { $0 = (try? Data(contentsOf: url))?.count } }
        )
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/bomb"))
        task.resume()
        try await delegate.wait(for: task) { $0 == .becameDownload }
        let download = try #require(delegate.download(of: task))
        try await delegate.success(of: download)
        #expect(size.value.map { Int64($0) } == Bomb.gzip.length)
    }

    @Test("A body that decodes to more than the cache takes isn't stored")
    func cache() async throws {
        let rig = try Rig { request in
            request.path == "/bomb" ? Bomb.gzip.response.header("Cache-Control", "max-age=100") : .text("hello")
        } configure: {
            $0.urlCache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { rig.stop() }
        for _ in 0..<2 {
            var count: Int64 = 0
            for try await chunk in try await rig.session.bytes(from: rig.url("/bomb")).0.chunks {
                count += Int64(chunk.count)
            }
            #expect(count == Bomb.gzip.length)
        }
        #expect(rig.server.requestCount == 2)
    }
}
