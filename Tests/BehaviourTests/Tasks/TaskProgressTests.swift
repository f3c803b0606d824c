import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A task's Progress", .timeLimit(.minutes(1)))
struct TaskProgressTests {
    @Test("A task's Progress moves with the bytes and ends at 1")
    func moves() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .pieces([.body(.generated(length: 250)), .waitFor(gate), .body(.generated(length: 750))])
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        #expect(task.progress === task.progress)
        #expect(task.progress.fractionCompleted == 0)
        task.resume()
        try await delegate.wait(for: task, bytes: 250)
        #expect(task.progress.totalUnitCount == 1000)
        #expect(task.progress.completedUnitCount == 250)
        #expect(task.progress.fractionCompleted == 0.25)
        gate.open()
        _ = try await delegate.completion(of: task)
        #expect(task.progress.fractionCompleted == 1)
        #expect(task.progress.isFinished)
    }

    @Test("A task's Progress that is first looked at in the middle moves as well")
    func lookedAtLate() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .pieces([.body(.generated(length: 500)), .waitFor(gate), .body(.generated(length: 500))])
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 500)
        #expect(task.progress.fractionCompleted == 0.5)
        gate.open()
        _ = try await delegate.completion(of: task)
        #expect(task.progress.fractionCompleted == 1)
    }

    @Test("A task's Progress is indeterminate while the length is unknown, and finished at the end")
    func unknownLength() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .chunked([.bytes("abc"), .waitFor(gate), .bytes("def")]) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 3)
        #expect(task.progress.isIndeterminate)
        gate.open()
        _ = try await delegate.completion(of: task)
        #expect(task.progress.isFinished)
    }

    @Test("A failed task's Progress isn't finished, and its parent doesn't count it")
    func failure() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .chunked([.bytes("abc"), .close]) }
        defer { rig.stop() }
        let whole = Progress(totalUnitCount: 10)
        let task = rig.session.dataTask(with: rig.url("/"))
        whole.addChild(task.progress, withPendingUnitCount: 10)
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .networkConnectionLost)
        #expect(task.progress.completedUnitCount == 3 && !task.progress.isFinished)
        #expect(whole.completedUnitCount == 0 && !whole.isFinished)
    }

    @Test("Cancelling a task's Progress cancels the task")
    func cancels() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .never }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        #expect(task.progress.isCancellable)
        task.resume()
        try await rig.server.waitForRequests(1)
        task.progress.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(!task.progress.isFinished)
    }

    @Test("Pausing and resuming a task's Progress suspends and resumes the task at once")
    func pauses() throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        let progress = task.progress
        #expect(progress.isPausable)
        progress.resume()
        #expect(task.state == .running, "the first time")
        progress.pause()
        #expect(task.state == .suspended)
        progress.resume()
        #expect(task.state == .running)
    }

    @Test("Pausing and resuming the parent of a task's Progress suspends and resumes the task")
    func pausesWithParent() throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let whole = Progress(totalUnitCount: 1)
        let task = rig.session.dataTask(with: rig.url("/"))
        whole.addChild(task.progress, withPendingUnitCount: 1)
        task.resume()
        task.progress.pause()
        whole.pause()
        #expect(task.state == .suspended && task.progress.isPaused)
        whole.resume()
        #expect(task.state == .running && !task.progress.isPaused)
        whole.pause()
        task.resume()
        whole.pause()
        #expect(task.state == .suspended, "it went on without its Progress")
    }

    @Test("Handlers that the program sets on a task's Progress are called as well")
    func handlers() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .never }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        let (paused, cancelled) = (Gate(), Gate())
        task.progress.pausingHandler = { paused.open() }
        task.progress.cancellationHandler = { cancelled.open() }
        task.resume()
        task.progress.pause()
        #expect(task.state == .suspended)
        task.progress.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        try await paused.wait()
        try await cancelled.wait()
    }

    @Test("A task's Progress takes part in its parent's")
    func parent() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .generated(length: 1000) }
        defer { rig.stop() }
        let whole = Progress(totalUnitCount: 2)
        let tasks = (0..<2).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { whole.addChild(task.progress, withPendingUnitCount: 1) }
        tasks[0].resume()
        _ = try await delegate.completion(of: tasks[0])
        #expect(whole.fractionCompleted == 0.5)
        tasks[1].resume()
        _ = try await delegate.completion(of: tasks[1])
        #expect(whole.fractionCompleted == 1)
    }
}
