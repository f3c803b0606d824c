import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Files of downloads that don't succeed", .timeLimit(.minutes(1)))
struct DownloadLitterTests {
    let directory: TemporaryDirectory
    let delegate = RecordingDelegate()
    let session: URLSession
    /// Its answers stop in the middle; nothing validates them.
    let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        session = URLSession.forDownloads(to: directory, delegate: delegate)
        server = try LoopbackServer { request in
            .pieces([
                .body(.generated(length: 100_000, seed: 1)), request.path == "/reset" ? .reset : .never,
                .bytes("the rest"),
            ])
        }
    }

    /// A download that has written what there is.
    private func startedTask() async throws -> URLSessionDownloadTask {
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: 100_000) }
        #expect(directory.content.count == 1)
        return task
    }

    @Test("A download that is cancelled leaves no file behind")
    func cancelled() async throws {
        let task = try await startedTask()
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(directory.content == [])
    }

    @Test("A download whose Swift task is cancelled leaves no file behind")
    func asyncCancelled() async throws {
        let loading = Task { [session, server] in try await session.download(from: server.url("/")) }
        try await server.waitForBytesSent(100_000)
        loading.cancel()
        let error = await #expect(throws: URLError.self) { try await loading.value }
        #expect(error?.code == .cancelled)
        #expect(directory.content == [])
    }

    @Test("A download whose session is invalidated leaves no file behind")
    func invalidated() async throws {
        let tasks = [try await startedTask()]
        session.invalidateAndCancel()
        try await delegate.invalidation()
        #expect(try await delegate.completion(of: tasks[0])?.code == .cancelled)
        #expect(directory.content == [])
    }

    @Test("A download that fails, and can't be resumed for want of a validator, leaves no file behind")
    func failed() async throws {
        let task = session.downloadTask(with: server.url("/reset"))
        task.resume()
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.downloadTaskResumeData == nil)
        #expect(directory.content == [])
    }

    @Test("A download that is paused, and can't be resumed for want of a validator, leaves no file behind")
    func paused() async throws {
        let task = try await startedTask()
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(directory.content == [])
    }

    @Test("A download that times out, and can't be resumed for want of a validator, leaves no file behind")
    func timedOut() async throws {
        let result = await session.download(URLRequest(server.url("/"), timeout: 0.5))
        #expect(result.error?.code == .timedOut)
        #expect(directory.content == [])
    }

    @Test(
        "A download that is cancelled after its last byte, and before its delegate hears of it, leaves no file behind"
    )
    func cancelledLate() async throws {
        let server = try LoopbackServer { _ in .generated(length: 100_000, seed: 1) }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let session = URLSession.forDownloads(to: directory, delegate: delegate, delegateQueue: queue)
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await eventually { task.countOfBytesReceived >= 100_000 }
        task.cancel()
        queue.isSuspended = false
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(!delegate.story(of: task).contains("finished downloading"))
        #expect(directory.content == [])
    }

    @Test("Two hundred downloads that are cancelled at various moments leave no files behind")
    func storm() async throws {
        let server = try LoopbackServer { _ in .generated(length: 2_000_000, seed: 1) }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask { [session, delegate] in
                    let task = session.downloadTask(with: server.url("/"))
                    task.resume()
                    try? await eventually {
                        task.countOfBytesReceived >= number * 10_000 || task.state != .running
                    }
                    task.cancel()
                    _ = try? await delegate.completion(of: task)
                }
            }
        }
        #expect(directory.content == [])
    }
}
