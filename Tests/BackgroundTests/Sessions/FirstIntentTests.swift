import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("A background task's first intent")
    struct FirstIntent {
        @Test("A task that another thread cancels while it is being resumed ends, and so does its session")
        func cancelledMeanwhile() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let session = rig.session
            let task = session.downloadTask(with: rig.server.url("/"))
            let engine = try #require(task.engine as? BackgroundEngine)
            // As far as `resume()` has come.
            let effect = engine.shared.withLock { $0.note({ $0.machine.resume() }, for: task) }
            #expect(effect == .activation)
            task.cancel()
            engine.client.queue.sync {}
            await withCheckedContinuation { continuation in
                session.delegateQueue.addOperation { continuation.resume() }
            }
            engine.begin()
            #expect(try await rig.delegate.completion(of: task)?.code == .cancelled)
            session.finishTasksAndInvalidate()
            try await rig.delegate.invalidation()
        }
    }
}
