import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    /// Small downloads, of whose ends there is no record as long as the program is about to take them.
    @Suite("Ends without a record")
    struct UnrecordedEnds {
        @Test("An end that is being told when the agent is killed is told once")
        func killedAgent() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            let (isBeingTold, goesOn) = (Gate(), Gate())
            defer { goesOn.open() }
            let delegate = RecordingDelegate(onDownload: { _ in
                isBeingTold.open()
                goesOn.waitBlocking()
            })
            let session = rig.session(delegate) { $0.curl.background.resumableSize = 1000 }
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await isBeingTold.wait()
            rig.killAgent()
            // The next one makes the download once more, or has made it already.
            try await rig.waitForLog { $0.components(separatedBy: "attached by").count == 3 }
            goesOn.open()
            try await delegate.success(of: task)
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
            #expect(delegate.completionCount(of: task) == 1)
        }

        @Test("An end that waits for its delegate's turn when the agent is killed is told with its file")
        func killedAgentBefore() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            let (isBusy, goesOn) = (Gate(), Gate())
            defer { goesOn.open() }
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            // The end isn't recorded as long as the agent expects the program to take it: within a second.
            let configuration = rig.configuration { $0.curl.background.resumableSize = 1000 }
            let session = URLSession(configuration: configuration, delegate: rig.delegate, delegateQueue: queue)
            let task = session.downloadTask(with: rig.url("/"))
            queue.addOperation {
                isBusy.open()
                goesOn.waitBlocking()
            }
            try await isBusy.wait()
            task.resume()
            let engine = try #require(task.engine as? BackgroundEngine)
            while !engine.handOver.withLock({ if case .due = $0 { true } else { false } }) { await Task.yield() }
            rig.killAgent()
            // The next one makes the download once more, or has made it already.
            try await rig.waitForLog { $0.components(separatedBy: "attached by").count == 3 }
            goesOn.open()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("hello".utf8))
            session.finishTasksAndInvalidate()
            try await rig.delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
            #expect(rig.delegate.completionCount(of: task) == 1)
        }

        @Test("An end that the program doesn't take is written down")
        func record() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            let configuration = rig.configuration { $0.curl.background.resumableSize = 1000 }
            let session = URLSession(configuration: configuration, delegate: rig.delegate, delegateQueue: queue)
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: rig.url("/"))
            queue.isSuspended = true
            task.resume()
            try await rig.waitForRecord(of: task) { $0.contains("\"ending\"") }
            rig.killAgent()
            queue.isSuspended = false
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("hello".utf8))
            try await rig.wait { rig.stateFiles == [] }
            #expect(rig.server.requestCount == 1)
        }
    }
}
