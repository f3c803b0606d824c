import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Data tasks that become others", .timeLimit(.minutes(1)))
struct TaskConversionTests {
    /// As when an upload's connection is lost, and its resume data is still being written.
    @Test(
        "An answer that comes between a task's end and its outcome waits for that",
        arguments: [URLSession.ResponseDisposition.becomeDownload, .becomeStream]
    )
    func betweenEndAndOutcome(disposition: URLSession.ResponseDisposition) async throws {
        let directory = try TemporaryDirectory()
        let settings = Sample.settings { $0.curl.temporaryDirectory = directory.url }
        let core = SessionCore(.ephemeral, settings: settings, delegate: nil, delegateQueue: OperationQueue())
        let request = try Sample.request()
        let handle = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            consumer: .delegate
        )
        let task = URLSessionDataTask(engine: handle)
        let response = try MailboxTests.response()
        handle.shared.withLock { shared in
            shared.task = task
            _ = shared.machine.resume()
            shared.mailbox.post(.disposition(of: response))
            _ = shared.mailbox.next()
            _ = shared.machine.finish()
        }
        handle.answer(disposition)
        let (isConverted, isAwaitingAnswer) = await handle.loop.perform {
            handle.shared.withLock { ($0.isConverted, $0.mailbox.isAwaitingAnswer) }
        }
        #expect(!isConverted && isAwaitingAnswer)
        await handle.loop.perform {
            handle.send(.failure(URLError(.networkConnectionLost)), resumeData: nil, metrics: nil)
        }
        let (successor, outcome) = handle.shared.withLock { ($0.task, $0.outcome) }
        let isDownload = disposition == .becomeDownload
        #expect(isDownload ? successor is URLSessionDownloadTask : successor is URLSessionStreamTask)
        #expect(outcome?.error?.code == .networkConnectionLost)
        // The end isn't told before the file is gone.
        try await eventually { handle.shared.withLock { !$0.mailbox.isAwaitingAnswer } }
        #expect(directory.content.isEmpty)
    }

    @Test("A stream that is cancelled just before its transfer ends fails those who read, and completes")
    func streamCancelledBeforeTheEnd() async throws {
        let asked = try await AskedTask("hello")
        defer { asked.session.invalidateAndCancel() }
        asked.handle.answer(.becomeStream)
        let stream = try #require(await asked.handle.loop.perform { asked.handle.task } as? URLSessionStreamTask)
        let read = Watched<[URLError.Code?]>([])
        stream.readData(ofMinLength: 6, maxLength: 6, timeout: 0) { _, _, error in
            read.update { $0.append((error as? URLError)?.code) }
        }
        await asked.handle.loop.perform {
            // The loop looks for this in its next turn.
            stream.cancel()
            asked.end()
        }
        #expect(try await asked.delegate.completion(of: stream)?.code == .cancelled)
        try await read.wait { $0 == [.cancelled] }
    }

    @Test("A task that is cancelled while its file is made becomes no download, and leaves no file")
    func cancelledWhileFileIsMade() async throws {
        let asked = try await AskedTask("hello")
        defer { asked.session.invalidateAndCancel() }
        let handle = asked.handle
        let becameDownload = try await handle.loop.perform {
            asked.end()
            let pieces = handle.shared.withLock { $0.mailbox.takeBody() }
            let sink = try FileSink(handle, in: asked.directory.url, for: nil, adding: [], of: nil, writing: pieces)
            asked.task.cancel()
            TaskConversion(handle).convertToDownload(into: sink)
            return handle.shared.withLock { $0.isConverted }
        }
        #expect(!becameDownload)
        #expect(try await asked.delegate.completion(of: asked.task)?.code == .cancelled)
        await asked.told()
        #expect(asked.delegate.story(of: asked.task) == ["created", "response", "completed"])
        try await eventually { asked.directory.content.isEmpty }
    }

    @Test("A file's error isn't reported for a task that was cancelled before")
    func failsAfterCancellation() async throws {
        let asked = try await AskedTask("hello")
        defer { asked.session.invalidateAndCancel() }
        await asked.handle.loop.perform { asked.end() }
        asked.task.cancel()
        #expect(try await asked.delegate.completion(of: asked.task)?.code == .cancelled)
        await asked.handle.loop.perform {
            TaskConversion(asked.handle).fail(URLError(.cannotCreateFile))
        }
        #expect((asked.task.error as? URLError)?.code == .cancelled)
    }

    private static let parts = "--a\r\n\r\n1\r\n--a\r\n\r\n2\r\n--a--"

    @Test("A task that is cancelled while its body is divided tells of no part")
    func cancelledWhileDivided() async throws {
        let asked = try await AskedTask(Self.parts, contentType: "multipart/x-mixed-replace; boundary=a")
        defer { asked.session.invalidateAndCancel() }
        let handle = asked.handle
        asked.session.delegateQueue.isSuspended = true
        try await handle.loop.perform {
            asked.end()
            let pieces = handle.shared.withLock { $0.mailbox.takeBody() }
            asked.task.cancel()
            try asked.sink.divide(pieces)
        }
        asked.session.delegateQueue.isSuspended = false
        #expect(try await asked.delegate.completion(of: asked.task)?.code == .cancelled)
        await asked.told()
        #expect(asked.delegate.story(of: asked.task) == ["created", "response", "completed"])
    }

    @Test("The answer still counts for a task that asks for resume data when it is complete")
    func pausedTooLate() async throws {
        let asked = try await AskedTask(Self.parts, contentType: "multipart/x-mixed-replace; boundary=a")
        defer { asked.session.invalidateAndCancel() }
        let handle = asked.handle
        let resumeData = Watched<[Data?]>([])
        await handle.loop.perform {
            handle.cancel(asked.task) { data in resumeData.update { $0.append(data) } }
            TaskConversion(handle).divide(asked.sink)
            asked.end()
        }
        try await asked.delegate.success(of: asked.task)
        #expect(asked.delegate.body(of: asked.task) == Data("12".utf8))
        try await resumeData.wait { $0 == [nil] }
    }
}

/// A data task whose delegate is being asked about the response, and whose body is there. The test stands in for the loader.
private struct AskedTask: Sendable {
    /// Has yet to answer; it allows all parts.
    let delegate: RecordingDelegate
    let directory: TemporaryDirectory
    let session: URLSession
    let task: URLSessionDataTask
    let handle: TaskHandle
    let sink: DelegateSink

    init(_ body: String, contentType: String = "text/plain") async throws {
        let isAsked = Watched(false)
        delegate = RecordingDelegate(onResponse: { _, _, answer in
            if isAsked.value { answer(.allow) } else { isAsked.update { $0 = true } }
        })
        let directory = try TemporaryDirectory()
        self.directory = directory
        session = .forTest(delegate: delegate) { $0.curl.temporaryDirectory = directory.url }
        let request = try Sample.request()
        task = session.dataTask(with: request)
        handle = try #require(task.engine as? TaskHandle)
        sink = DelegateSink(handle)
        session.core.activate(handle)
        let head = Sample.head(200, ["Content-Type": contentType])
        let received = ReceivedHead(head: head, request: request)
        let response = try AcceptedResponse(received, HeadVerdict.Placement())
        await withCheckedContinuation { [handle, sink, task] continuation in
            handle.shared.withLock { shared in
                shared.task = task
                _ = shared.machine.resume()
            }
            handle.submit {
                handle.endWork()
                sink.begin(response)
                Data(body.utf8).withUnsafeBytes { try? sink.receive($0) }
                continuation.resume()
            }
        }
        try await isAsked.wait { $0 }
    }

    /// The transfer ends with success. Loop.
    func end() {
        guard let discarded = handle.shared.withLock({ $0.finish(isSuccess: true) }) else { return }
        handle.drop(discarded)
        sink.complete()
        handle.send(.delivered, resumeData: nil, metrics: nil)
    }

    /// Returns when the delegate has been told everything.
    func told() async {
        await withCheckedContinuation { continuation in
            session.delegateQueue.addOperation { continuation.resume() }
        }
    }
}
