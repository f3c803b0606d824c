import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("What the delegate has been told")
    struct Acknowledgements {
        @Test("An end that was acknowledged isn't told again by an agent that comes after none could be reached")
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
    }
}
