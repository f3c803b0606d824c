import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Tasks that wait until their host is reachable", .timeLimit(.minutes(1)))
struct ConnectivityWaitersTests {
    /// Counts how often it is called.
    private final class Waiter: ConnectivityWaiter, Sendable {
        let calls = Watched(0)

        func networkChanged() {
            calls.update { $0 += 1 }
        }
    }

    /// What waits on the loop.
    ///
    /// `@unchecked Sendable`: `waiters` is touched on the loop alone.
    private final class Rig: @unchecked Sendable {
        private let loop = LoopRig.loop
        private let files: [String]
        private lazy var waiters = ConnectivityWaiters(loop: loop, files: files)

        init(files: [String]) {
            self.files = files
        }

        func enter(_ waiter: Waiter) async {
            await run { self.waiters.enter(waiter) }
        }

        func leave(_ waiter: Waiter) async {
            await run { self.waiters.leave(waiter) }
        }

        private func run(_ body: @escaping @Sendable () -> Void) async {
            await withCheckedContinuation { continuation in
                loop.submit {
                    body()
                    continuation.resume()
                }
            }
        }
    }

    @Test("They are called when the resolver's files change, again and again, and those that have left aren't")
    func files() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("resolv.conf")
        try Data("nameserver 127.0.0.1".utf8).write(to: file)
        let rig = Rig(files: [file.path])
        let (staying, leaving) = (Waiter(), Waiter())
        await rig.enter(staying)
        await rig.enter(leaving)
        await rig.leave(leaving)
        for change in 1...2 {
            try await staying.calls.standsStill()
            let before = staying.calls.value
            try Data("nameserver 127.0.0.\(change + 1)".utf8).write(to: file)
            try await staying.calls.wait { $0 > before }
        }
        await rig.leave(staying)
        #expect(leaving.calls.value == 0)
        // The monitor is another one after all had left.
        await rig.enter(leaving)
        try Data("nameserver 127.0.0.9".utf8).write(to: file)
        try await leaving.calls.wait { $0 > 0 }
        await rig.leave(leaving)
    }
}
