import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("What the delegate has been told")
    struct Acknowledgements {
        @Test(
            "An end that was acknowledged isn't reported again by the agent that follows one that couldn't be reached"
        )
        func unconfirmed() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let task = rig.download()
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            agent.say([.accepted(submission.key), .failure(of: submission, .timedOut)])
            #expect(try await agent.acknowledgements(1) == [submission.key])
            // It doesn't confirm that, and the program gives up.
            agent.hangUp()
            try await agent.greet(2, with: [.refused(.other("no"))])
            try await agent.goodbye()
            let another = rig.download()
            let ending = TaskEnding(submission, .timedOut)
            let listing = TaskListing(submission: submission, progress: ending.progress, ending: ending)
            try await agent.greet(3, with: [.listing(listing), .welcome])
            #expect(try await agent.acknowledgements(2) == [submission.key, submission.key])
            let second = try await agent.submissions(2)[1]
            agent.say([.forgotten(submission.key), .accepted(second.key), .failure(of: second, .timedOut)])
            _ = try await rig.delegate.completion(of: another)
            #expect(rig.delegate.completionCount(of: task) == 1)
        }

        @Test("The delegate is told once that a task waits for its host, however many attempts and agents say so")
        func waiting() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let delegate = TimelineDelegate()
            let session = rig.session(delegate)
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            let waits = AgentMessage.event(submission.key, .isWaitingForConnectivity)
            agent.say([.accepted(submission.key), waits, waits])
            try await delegate.wait(for: task) { $0 == .waiting }
            agent.hangUp()
            let listing = TaskListing(submission: submission, progress: TaskProgress(key: submission.key))
            let end = AgentMessage.failure(of: submission, .timedOut)
            try await agent.greet(2, with: [.listing(listing), .welcome, waits, end])
            #expect(try await delegate.completion(of: task)?.code == .timedOut)
            #expect(delegate.events(of: task) == [.created, .waiting, .metrics, .completed(.timedOut)])
        }
    }
}
