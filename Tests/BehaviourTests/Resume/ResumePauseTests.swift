import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A download that is cancelled can be asked for resume data", .timeLimit(.minutes(1)))
struct ResumePauseTests {
    let directory: TemporaryDirectory
    let delegate = RecordingDelegate()
    let session: URLSession
    let origin: ResumeOrigin

    init() throws {
        directory = try TemporaryDirectory()
        session = URLSession.forDownloads(to: directory, delegate: delegate)
        origin = try ResumeOrigin()
    }

    private func startedTask() async throws -> URLSessionDownloadTask {
        let task = session.downloadTask(with: origin.url)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: ResumeOrigin.heldAt) }
        return task
    }

    @Test("A handler gets the resume data on the delegate queue, before the task completes")
    func handler() async throws {
        let task = try await startedTask()
        let queue = session.delegateQueue
        let (data, isOnQueue, completions) = await withCheckedContinuation { continuation in
            task.cancel { [delegate] data in
                let count = delegate.completionCount(of: task)
                continuation.resume(returning: (data, OperationQueue.current === queue, count))
            }
        }
        #expect(data != nil)
        #expect(isOnQueue)
        #expect(completions == 0)
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .cancelled)
        #expect(error?.downloadTaskResumeData == data)
        #expect(delegate.completionCount(of: task) == 1)
    }

    @Test("The async form of pausing gives resume data")
    func async() async throws {
        let task = try await startedTask()
        let data = try #require(await task.cancelByProducingResumeData())
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(try await ResumedDownload(data, in: directory).body == ResumeOrigin.bytes)
    }

    @Test("A paused download's completion handler finds the resume data in its error")
    func errorOfHandler() async throws {
        let result = Watched<HandlerResult?>(nil)
        let task = session.downloadTask(with: origin.url) { _, response, error in
            result.update { $0 = HandlerResult(nil, response, error) }
        }
        task.resume()
        // `Progress` tells nobody on Linux.
        try await eventually { task.progress.completedUnitCount >= ResumeOrigin.heldAt }
        task.cancel { _ in }
        try await result.wait { $0 != nil }
        let error = result.value?.error
        #expect(error?.code == .cancelled)
        let data = try #require(error?.downloadTaskResumeData)
        #expect(try await ResumedDownload(data, in: directory).body == ResumeOrigin.bytes)
    }

    @Test("Resume data is a property list, and its private partial file holds exactly what had arrived")
    func partialFile() async throws {
        let paused = try await PausedDownload(from: origin)
        let list = try PropertyListSerialization.propertyList(from: paused.resumeData, format: nil)
        #expect((list as? [String: Any])?["version"] as? Int == 1)
        let file = try paused.partialFile
        #expect(try Data(contentsOf: file) == ResumeOrigin.bytes.prefix(Int(ResumeOrigin.heldAt)))
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
    }

    @Test("A delegate may pause from within didWriteData")
    func fromDelegate() async throws {
        let pair = AsyncStream<Data?>.makeStream()
        let pausing = RecordingDelegate(onEvent: { task, event in
            guard event.isWritten(upTo: ResumeOrigin.heldAt), let task = task as? URLSessionDownloadTask else { return }
            task.cancel { pair.continuation.yield($0) }
        })
        let session = URLSession.forDownloads(to: directory, delegate: pausing)
        let task = session.downloadTask(with: origin.url)
        task.resume()
        var iterator = pair.stream.makeAsyncIterator()
        let data = try #require(await iterator.next() ?? nil)
        #expect(try await pausing.completion(of: task)?.code == .cancelled)
        #expect(try await ResumedDownload(data, in: directory).body == ResumeOrigin.bytes)
    }

    @Test("A suspended download can be paused as well")
    func suspended() async throws {
        let task = try await startedTask()
        task.suspend()
        let data = try #require(await task.cancelByProducingResumeData())
        #expect(try await ResumedDownload(data, in: directory).body == ResumeOrigin.bytes)
    }

    @Test("Only the first of two callers that ask for resume data gets it")
    func twice() async throws {
        let task = try await startedTask()
        async let first = task.cancelByProducingResumeData()
        let data = await first
        #expect(data != nil)
        #expect(await task.cancelByProducingResumeData() == nil)
    }

    @Test("Neither a completed download nor a cancelled one has resume data")
    func completed() async throws {
        origin.gate.open()
        let done = session.downloadTask(with: origin.url)
        done.resume()
        #expect(try await delegate.completion(of: done) == nil)
        #expect(await done.cancelByProducingResumeData() == nil)
        #expect(done.error == nil)
        let cancelled = session.downloadTask(with: origin.url)
        cancelled.cancel()
        #expect(await cancelled.cancelByProducingResumeData() == nil)
    }

    @Test("There is no resume data before the response, whether the task was resumed or not")
    func beforeResponse() async throws {
        let silent = try LoopbackServer { _ in .never }
        let task = session.downloadTask(with: silent.url("/"))
        task.resume()
        try await silent.waitForRequests(1)
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(try await delegate.completion(of: task)?.downloadTaskResumeData == nil)
        let created = session.downloadTask(with: silent.url("/"))
        #expect(await created.cancelByProducingResumeData() == nil)
        #expect(try await delegate.completion(of: created)?.code == .cancelled)
        #expect(directory.content == [])
    }

    @Test("A resumed download that is paused before it has begun is as good as before", arguments: [false, true])
    func resumedAndPausedAtOnce(wasStarted: Bool) async throws {
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        let task = session.downloadTask(withResumeData: paused.resumeData)
        if wasStarted { task.resume() }
        let data = try #require(await task.cancelByProducingResumeData())
        let resumed = try await paused.resume(data)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
    }

    @Test("A resumed download that is paused before the server answers is as good as before")
    func resumedAndPausedBeforeAnswer() async throws {
        let origin = try ResumeOrigin { request in
            request.ordinal == 2 ? .never : .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
        }
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        let task = session.downloadTask(withResumeData: paused.resumeData)
        task.resume()
        try await origin.server.waitForRequests(2)
        let data = try #require(await task.cancelByProducingResumeData())
        let resumed = try await paused.resume(data)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
    }
}
