import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("On which thread a task's Progress changes", .timeLimit(.minutes(1)))
struct TaskProgressThreadTests {
    @Test("A task's Progress changes on the delegate queue alone, with one operation for however many bytes have come")
    func delegateQueue() async throws {
        let gate = Gate()
        let rig = try Rig { _ in
            .pieces([.body(.generated(length: 2_000_000)), .open(gate), .never, .bytes("rest")])
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/")) { _, _, _ in }
        let progress = task.progress
        rig.session.delegateQueue.isSuspended = true
        task.resume()
        try await gate.wait()
        try await eventually { task.countOfBytesReceived >= 2_000_000 }
        #expect(progress.completedUnitCount == 0)
        #expect(rig.session.delegateQueue.operationCount == 1)
        rig.session.delegateQueue.isSuspended = false
        await withCheckedContinuation { continuation in
            rig.session.delegateQueue.addOperation { continuation.resume() }
        }
        #expect(progress.completedUnitCount == 2_000_000)
    }

    @Test("A task's Progress is done when its result is delivered on the delegate queue")
    func doneBeforeResult() async throws {
        let rig = try Rig { _ in .generated(length: 1000) }
        defer { rig.stop() }
        let seen = Watched<URLSessionTask?>(nil)
        let fraction = await withCheckedContinuation { continuation in
            let task = rig.session.dataTask(with: rig.url("/")) { _, _, _ in
                continuation.resume(returning: seen.value?.progress.fractionCompleted)
            }
            #expect(!task.progress.isFinished)
            seen.update { $0 = task }
            task.resume()
        }
        #expect(fraction == 1)
    }

    @Test("The Progress of an async call's task is done soon after the call")
    func asyncCall() async throws {
        let rig = try Rig { _ in .generated(length: 1000) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        let progress = bytes.task.progress
        for try await _ in bytes.chunks {}
        await withCheckedContinuation { continuation in
            rig.session.delegateQueue.addOperation { continuation.resume() }
        }
        #expect(progress.isFinished && progress.totalUnitCount == 1000)
    }

    @Test("Tasks of many sessions can have one parent Progress")
    func oneParent() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { $0.method == "PUT" ? .echoBody($0) : .generated(length: 300_000) }
            let sessions = (0..<6).map { _ in URLSession.forTest { $0.curl.eventLoops = 2 } }
            for _ in 0..<5 {
                let finished = Watched(0)
                let whole = Progress(totalUnitCount: 300)
                let tasks = (0..<300).map { number -> URLSessionTask in
                    let session = sessions[number % sessions.count]
                    guard number.isMultiple(of: 3) else {
                        return session.dataTask(with: server.url("/")) { _, _, _ in finished.update { $0 += 1 } }
                    }
                    let request = URLRequest(server.url("/"), method: "PUT")
                    return session.uploadTask(with: request, from: Data(count: 50_000)) { _, _, _ in
                        finished.update { $0 += 1 }
                    }
                }
                for task in tasks { whole.addChild(task.progress, withPendingUnitCount: 1) }
                for task in tasks { task.resume() }
                try await finished.wait { $0 == 300 }
                #expect(whole.completedUnitCount == 300)
                #expect(whole.fractionCompleted == 1)
            }
            server.stop()
        }
    }
}
