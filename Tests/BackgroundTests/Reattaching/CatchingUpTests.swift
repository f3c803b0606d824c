import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("What a program is told that wasn't there when it happened")
    struct CatchingUp {
        @Test("A program that comes back is told that its task waits for its host")
        func waiting() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            try await rig.leaveWaitingTask()
            for _ in 0..<2 {
                let next = try rig.program()
                try await next.line(beginningWith: "waiting one")
                await next.crash()
            }
        }

        /// A task whose agent is gone after 10 bytes, and what the next one says of it.
        private func reattached(
            _ rig: BackgroundRig,
            _ agent: StagedAgent,
            _ change: (inout TaskProgress) -> Void
        ) async throws -> (URLSessionDownloadTask, TaskSubmission) {
            let task = rig.download()
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            var progress = TaskProgress(key: submission.key)
            progress.counters.received = 10
            progress.counters.expectedToReceive = 100
            agent.say([.accepted(submission.key), .progress([progress])])
            try await rig.delegate.wait(for: task) { $0 == .wrote(10, total: 10, expected: 100) }
            agent.hangUp()
            change(&progress)
            try await agent.greet(
                2,
                with: [.listing(TaskListing(submission: submission, progress: progress)), .welcome]
            )
            return (task, submission)
        }

        @Test("A program that attaches after its download has continued is told so before it is told of any bytes")
        func resumed() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let (task, _) = try await reattached(rig, agent) { progress in
                progress.resumption = .init(offset: 50, expected: 100)
                progress.counters.received = 70
            }
            try await rig.delegate.wait(for: task) { $0 == .wrote(20, total: 70, expected: 100) }
            let events = rig.delegate.events(of: task)
            #expect(events.dropFirst(2).first == .resumed(offset: 50, expected: 100))
        }

        @Test("The delegate of a download that starts over is told so along with the first new bytes")
        func startedOver() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let (task, submission) = try await reattached(rig, agent) { $0.counters = TaskCounters() }
            var progress = TaskProgress(key: submission.key)
            progress.counters.received = 5
            progress.counters.expectedToReceive = 20
            agent.say([.progress([progress])])
            try await rig.delegate.wait(for: task) { $0 == .wrote(5, total: 5, expected: 20) }
            #expect(rig.delegate.events(of: task).filter { $0.name == "wrote" }.count == 2)
        }

        @Test("A header with a line break fails its task, as in other sessions")
        func lineBreak() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            var request = URLRequest(url: rig.url("/"))
            request.allHTTPHeaderFields = ["X-A": "a\r\nX-B: b"]
            let task = rig.session.downloadTask(with: request)
            task.resume()
            #expect(try await rig.delegate.completion(of: task)?.code == .badURL)
            #expect(rig.server.requestCount == 0)
            try await rig.finish()
        }
    }
}
