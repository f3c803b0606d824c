import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Tasks under many threads", .timeLimit(.minutes(1)))
struct TaskConcurrencyTests {
    @Test("resume, suspend and every property from many threads at once disturb no byte")
    func resumeAndSuspend() async throws {
        let length = 8 << 20
        let done = Gate()
        let delegate = RecordingDelegate(onEvent: { _, event in
            if case .completed = event { done.open() }
        })
        let rig = try Rig(delegate: delegate) { _ in .generated(length: Int64(length), seed: 11) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        async let hammering: Void = hammer(threads: 4, until: done) { thread in
            task.suspend()
            _ = (task.state, task.response, task.error, task.progress.fractionCompleted, task.countOfBytesReceived)
            task.priority = Float(thread) / 10
            task.taskDescription = "\(thread)"
            task.resume()
        }
        try await delegate.success(of: task)
        await hammering
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 11, length: length))
        #expect(delegate.completionCount(of: task) == 1)
    }

    @Test("cancel, resume and suspend from many threads at once, at any moment, give one completion each")
    func cancel() async throws {
        let server = try LoopbackServer { _ in .generated(length: 200_000) }
        defer { server.stop() }
        let done = Gate()
        let completions = Watched(0)
        let delegate = RecordingDelegate(
            keepsBodies: false,
            onEvent: { _, event in
                guard case .completed = event else { return }
                completions.update { $0 += 1 }
                if completions.value >= 150 { done.open() }
            }
        )
        let session = URLSession.forTest(delegate: delegate)
        let tasks = (0..<200).map { _ in session.dataTask(with: server.url("/")) }
        await hammer(threads: 4, until: done) { _ in
            guard let task = tasks.randomElement() else { return }
            switch Int.random(in: 0..<200) {
            case 0: task.cancel()
            case 1..<50: task.suspend()
            default: task.resume()
            }
        }
        // Those that are left suspended as well.
        session.invalidateAndCancel()
        try await delegate.invalidation()
        for task in tasks {
            #expect(delegate.completionCount(of: task) == 1)
            #expect(delegate.events(of: task).last?.name == "completed")
            #expect(task.state == .completed)
        }
    }

    @Test("However often a task is suspended and resumed while its loop is busy, nothing piles up")
    func busyLoop() async throws {
        let hold = LoopHold()
        let rig = try Rig {
            .text($0.path)
        } configure: {
            hold.install(in: $0)
        }
        defer { rig.stop() }
        async let held = rig.session.load(rig.url("/hold"))
        try await hold.isHeldUp.wait()
        let result = Watched<HandlerResult?>(nil)
        let task = rig.session.dataTask(with: rig.url("/")) { data, response, error in
            result.update { $0 = HandlerResult(data, response, error) }
        }
        task.resume()
        try ProcessUsage.resetPeak()
        let before = ProcessUsage().resident
        for _ in 0..<400_000 {
            task.suspend()
            task.resume()
        }
        #expect(ProcessUsage().peak - before < ProcessUsage.growth(of: 4 << 20))
        hold.end()
        #expect(await held.text == "/hold")
        try await result.wait { $0 != nil }
        #expect(result.value?.text == "/")
    }

    @Test("Tasks created from many threads all run")
    func creation() async throws {
        let rig = try Rig { .text($0.path) }
        defer { rig.stop() }
        try await withThrowingTaskGroup(of: (Int, String?).self) { group in
            for index in 0..<200 {
                group.addTask { (index, await rig.session.load(rig.url("/\(index)")).text) }
            }
            for try await (index, text) in group { #expect(text == "/\(index)") }
        }
        #expect(rig.server.requestCount == 200)
    }
}
