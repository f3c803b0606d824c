import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("What a task tells at its end")
struct TaskStateTests {
    private static func state(_ consumer: Consumer, _ outcome: Outcome) -> TaskState {
        var state = TaskState(consumer: consumer, currentRequest: nil)
        _ = state.machine.resume()
        _ = state.machine.finish()
        state.outcome = outcome
        state.metrics = TaskMetrics(hops: [], interval: DateInterval(), redirectCount: 0)
        return state
    }

    private static func names(_ steps: [TaskEnd]) -> [String] {
        steps.map { step in
            switch step {
            case .unwanted: "unwanted"
            case .downloaded: "file"
            case .metrics: "metrics"
            case .result: "result"
            case .over: "over"
            }
        }
    }

    @Test("Metrics come before the result, and only where a delegate hears of them", arguments: [true, false])
    func metrics(tellsMetrics: Bool) {
        var state = Self.state(.delegate, .delivered)
        let steps = state.end(tellsMetrics: tellsMetrics)
        #expect(Self.names(steps) == (tellsMetrics ? ["metrics"] : []) + ["result"])
        #expect(state.machine.stage == .completed && state.metrics == nil)
    }

    @Test("A Swift task that has its result is told no more, but its delegate hears of metrics")
    func informed() {
        var state = Self.state(.informed, .delivered)
        let steps = state.end(tellsMetrics: true)
        #expect(Self.names(steps) == ["metrics", "over"])
    }

    @Test("A download's file is let go of with its own message, before the result's")
    func file() throws {
        let directory = try TemporaryDirectory()
        weak var file: DownloadedFile?
        var steps: [TaskEnd]
        do {
            let complete = try DownloadFile(in: directory.url).finish()
            file = complete
            var state = Self.state(.downloadDelegate, .file(complete))
            steps = state.end(tellsMetrics: false)
        }
        #expect(Self.names(steps) == ["file", "result"])
        #expect(file != nil)
        steps.removeFirst()
        #expect(file == nil)
    }

    @Test("A download that is complete when it is to be paused is a success", arguments: [true, false])
    func pausedTooLate(isSuccess: Bool) throws {
        let directory = try TemporaryDirectory()
        let complete = try DownloadFile(in: directory.url).finish()
        var state = TaskState(consumer: .downloadDelegate, currentRequest: nil)
        _ = state.machine.resume()
        let isInTime = state.add(resumeDataHandler: { _ in })
        _ = state.machine.cancel(.keepingPartialFile)
        #expect(isInTime && state.finish(isSuccess: isSuccess) != nil)
        state.outcome = isSuccess ? .file(complete) : .failure(URLError(.cancelled))
        #expect(Self.names(state.end(tellsMetrics: false)) == (isSuccess ? ["file", "result"] : ["result"]))
        #expect(FileManager.default.fileExists(atPath: complete.url.path))
    }

    @Test("A download that becomes complete between the call to pause it and its cancellation is a success")
    func pausedJustTooLate() throws {
        let directory = try TemporaryDirectory()
        let complete = try DownloadFile(in: directory.url).finish()
        var state = TaskState(consumer: .downloadDelegate, currentRequest: nil)
        _ = state.machine.resume()
        let isInTime = state.add(resumeDataHandler: { _ in })
        #expect(isInTime && state.finish(isSuccess: true) != nil)
        state.outcome = .file(complete)
        let isCancelled = state.machine.cancel(.keepingPartialFile)
        #expect(!isCancelled)
        #expect(Self.names(state.end(tellsMetrics: false)) == ["file", "result"])
        #expect(FileManager.default.fileExists(atPath: complete.url.path))
    }

    @Test(
        "The file of a task that was cancelled after its end goes before the owner is told",
        arguments: [true, false]
    )
    func cancelledTooLate(isDelegate: Bool) throws {
        let directory = try TemporaryDirectory()
        let complete = try DownloadFile(in: directory.url).finish()
        var state = Self.state(isDelegate ? .downloadDelegate : .fileHandler { _, _, _ in }, .file(complete))
        let isCancelled = state.machine.cancel(.discardingBody)
        let steps = state.end(tellsMetrics: true)
        #expect(isCancelled && Self.names(steps) == ["unwanted", "metrics", "result"])
        #expect(state.outcome?.error?.code == .cancelled)
    }

    @Test(
        "A task that is cancelled after its failure ends as cancelled, unless calls have failed before it",
        arguments: [true, false]
    )
    func cancelledAfterFailure(isStream: Bool) {
        let failure = Outcome.failure(URLError(.networkConnectionLost))
        var state = Self.state(isStream ? .stream(StreamPort()) : .delegate, failure)
        let isCancelled = state.machine.cancel(.discardingBody)
        let steps = state.end(tellsMetrics: false)
        #expect(isCancelled && Self.names(steps) == ["result"])
        #expect(state.outcome?.error?.code == (isStream ? .networkConnectionLost : .cancelled))
    }

    @Test("Streams that were captured are the last that is told of a task")
    func captured() {
        let port = StreamPort()
        port.noteCapture()
        var state = Self.state(.stream(port), .delivered)
        let steps = state.end(tellsMetrics: true)
        #expect(Self.names(steps) == ["over"])
        #expect(state.machine.stage == .completed)
    }

    @Test("Resume data comes before everything else, once for each that has asked")
    func resumeData() {
        var state = TaskState(consumer: .downloadDelegate, currentRequest: nil)
        let inTime = (0..<2).map { _ in state.add(resumeDataHandler: { _ in }) }
        _ = state.machine.finish()
        let late = state.add(resumeDataHandler: { _ in })
        #expect(inTime == [true, true] && !late)
        state.post(resumeData: nil)
        #expect(state.resumeDataHandlers.isEmpty)
        state.mailbox.post(.completed)
        let messages = (0..<3).map { _ in state.mailbox.next().map(MailboxTests.name) }
        #expect(messages == ["resume data", "resume data", "completed"])
    }

    @Test("The first intent that counts makes the task the session's; those before it do nothing")
    func intents() throws {
        var state = TaskState(consumer: .delegate, currentRequest: nil)
        let task = URLSessionDataTask(engine: TaskEngineTests.Engine(try Sample.request()))
        let early = [state.note({ $0.machine.suspend() }, for: task), state.note({ _ in false }, for: task)]
        #expect(early == [.none, .none] && state.task == nil)
        let first = state.note({ $0.machine.cancel(.discardingBody) }, for: task)
        #expect(first == .activation && state.task === task)
        let second = state.note({ _ in true }, for: task)
        #expect(second == .change)
    }
}
