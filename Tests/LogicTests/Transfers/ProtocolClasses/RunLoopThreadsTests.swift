import CurlNetworkingLoopbackServer
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The threads of protocol classes", .timeLimit(.minutes(1)))
struct RunLoopThreadsTests {
    private final class Held: Sendable {}

    @Test("Work that is abandoned while every thread is blocked is let go at once, and what follows has its turn")
    func abandoned() async throws {
        let threads = RunLoopThreads()
        let blocked = Watched(0)
        let release = DispatchSemaphore(value: 0)
        let blockers = (0..<RunLoopThreads.limit).map { _ in RunLoopExecutor(threads) }
        for executor in blockers {
            executor.run {
                blocked.update { $0 += 1 }
                release.wait()
            }
        }
        try await blocked.wait { $0 == RunLoopThreads.limit }
        weak var held: Held?
        let (waiting, next) = (RunLoopExecutor(threads), RunLoopExecutor(threads))
        let hasRun = Gate()
        do {
            let object = Held()
            held = object
            waiting.run { _ = object }
        }
        next.run { hasRun.open() }
        #expect(held != nil)
        #expect(waiting.abandon())
        #expect(held == nil)
        for _ in blockers { release.signal() }
        try await hasRun.wait()
        #expect(!next.abandon(), "it has a thread")
    }
}
