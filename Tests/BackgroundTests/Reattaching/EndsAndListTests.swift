import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Lists of tasks while the delegate is told of ends")
    struct EndsAndLists {
        /// Notes its calls about ends, and the number of tasks in each list.
        private final class ListingDelegate: NSObject, URLSessionTaskDelegate {
            let events = Watched<[String]>([])
            /// Whether it asks for a list while it is told of an end.
            private let asks: Bool

            init(asks: Bool) {
                self.asks = asks
            }

            /// Returns when the session has dealt with the call, though not with its handler.
            func ask(_ session: URLSession) {
                session.getAllTasks { [events] tasks in events.update { $0.append("listed \(tasks.count)") } }
                settle(session)
            }

            /// Returns when the client has done what it has been asked to do.
            func settle(_ session: URLSession) {
                (session.core.remote as? BackgroundClient)?.queue.sync {}
            }

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                didFinishCollecting metrics: URLSessionTaskMetrics
            ) {
                events.update { $0.append("metrics") }
                if asks { ask(session) }
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                events.update { $0.append("completed") }
            }
        }

        /// A session with a task that `agent` has accepted.
        private func start(
            _ rig: BackgroundRig,
            _ agent: StagedAgent,
            _ delegate: ListingDelegate,
            _ queue: OperationQueue? = nil
        ) async throws -> (URLSession, URLSessionTask, TaskSubmission) {
            let session = URLSession(configuration: rig.configuration(), delegate: delegate, delegateQueue: queue)
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            agent.say([.accepted(submission.key)])
            return (session, task, submission)
        }

        @Test("A list that is asked for while the delegate is told of an end comes once it has been told")
        func endUnderWay() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let delegate = ListingDelegate(asks: true)
            let (session, _, submission) = try await start(rig, agent, delegate)
            defer { session.invalidateAndCancel() }
            agent.say([.failure(of: submission, .timedOut)])
            try await delegate.events.wait { $0.count == 3 }
            #expect(delegate.events.value == ["metrics", "completed", "listed 0"])
            #expect(try await agent.acknowledgements(1) == [submission.key])
        }

        @Test("A list that lacks a cancelled task comes once the delegate has been told of that task's end")
        func cancelledTask() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let delegate = ListingDelegate(asks: false)
            let (session, task, submission) = try await start(rig, agent, delegate)
            defer { session.invalidateAndCancel() }
            task.cancel()
            delegate.ask(session)
            // Whatever the delegate queue had to do by then is done.
            await withCheckedContinuation { continuation in
                session.delegateQueue.addOperation { continuation.resume() }
            }
            #expect(await session.allTasks.isEmpty)
            #expect(delegate.events.value.isEmpty)
            agent.say([.failure(of: submission, .cancelled)])
            try await delegate.events.wait { $0.count == 3 }
            #expect(delegate.events.value == ["metrics", "completed", "listed 0"])
        }

        @Test("A task whose end the delegate begins to hear of only after the list was asked for is listed")
        func laterEnd() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            let delegate = ListingDelegate(asks: false)
            let (session, task, submission) = try await start(rig, agent, delegate, queue)
            defer { session.invalidateAndCancel() }
            agent.say([.failure(of: submission, .timedOut)])
            let engine = try #require(task.engine as? BackgroundEngine)
            try await eventually { engine.shared.withLock { $0.machine.stage == .finished } }
            delegate.settle(session)
            // The handler's turn comes between the delegate's messages.
            delegate.ask(session)
            queue.isSuspended = false
            try await delegate.events.wait { $0.count == 3 }
            #expect(delegate.events.value == ["metrics", "listed 1", "completed"])
        }
    }
}
