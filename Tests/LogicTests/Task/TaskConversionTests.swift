import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Data tasks that become others", .timeLimit(.minutes(1)))
struct TaskConversionTests {
    private static func onLoop<Result: Sendable>(
        of handle: TaskHandle,
        _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in handle.submit { continuation.resume(returning: body()) } }
    }

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
            _ = shared.mailbox.post(.question(.disposition(of: response)))
            _ = shared.mailbox.next()
            _ = shared.machine.finish()
        }
        handle.answer(disposition)
        let (isConverted, isAwaitingAnswer) = await Self.onLoop(of: handle) {
            handle.shared.withLock { ($0.hasBecomeAnother, $0.mailbox.isAwaitingAnswer) }
        }
        #expect(!isConverted && isAwaitingAnswer)
        await Self.onLoop(of: handle) {
            handle.send(.failure(URLError(.networkConnectionLost)), resumeData: nil, metrics: nil)
        }
        let (successor, outcome) = handle.shared.withLock { ($0.task, $0.outcome) }
        let isDownload = disposition == .becomeDownload
        #expect(isDownload ? successor is URLSessionDownloadTask : successor is URLSessionStreamTask)
        #expect(outcome?.error?.code == .networkConnectionLost)
        // Nobody hears of the end before the file is gone.
        try await eventually { handle.shared.withLock { !$0.mailbox.isAwaitingAnswer } }
        #expect(directory.content.isEmpty)
    }
}
