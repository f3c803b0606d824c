import Foundation
import CurlNetworkingLocks

/// The process's event loops. Sessions share them, assigned in turn: one each from a small set, or as many as they ask for, and the set
/// grows to fit. An idle loop costs a few descriptors, but no thread and no CPU time. Any thread.
package final class EventLoopGroup: Sendable {
    package static let shared = EventLoopGroup(label: "CurlNetworking.loop", count: usualCount)

    /// For the sessions on whose loops Swift tasks run: a task that blocks delays only such sessions.
    package static let tasks = EventLoopGroup(label: "CurlNetworking.tasks", count: usualCount)

    /// Loops only for FTP: libcurl blocks while waiting for some FTP replies, for a minute at worst.
    package static let ftp = EventLoopGroup(label: "CurlNetworking.ftp", count: 2)

    static let all = [shared, tasks, ftp]

    private static let usualCount = count(forCores: ProcessInfo.processInfo.activeProcessorCount)

    /// How many loops sessions share on a machine with so many cores.
    static func count(forCores cores: Int) -> Int { max(1, min(4, cores / 2)) }

    private let label: String
    private let count: Int
    private let state = Mutex(State())

    private struct State {
        var loops: [EventLoop] = []
        var taken = 0
        /// Whether this process was forked since these loops were made.
        var isForked = false
        /// The loops of the process that this one was forked from: left alone, and never freed.
        var parents: [EventLoop] = []

        /// A child makes its own loops.
        mutating func leaveParents() {
            guard isForked else { return }
            parents += loops
            loops = []
            isForked = false
        }
    }

    init(label: String = "CurlNetworking.loop", count: Int) {
        self.label = label
        self.count = count
    }

    /// The next loop in turn; created on first use and never freed.
    package func next() -> EventLoop { next(1)[0] }

    /// `wanted` different loops, starting with the next in turn. If the process was out of descriptors when some were made, only the usable
    /// ones, or all if none is, and all of them try again.
    package func next(_ wanted: Int) -> [EventLoop] {
        ForkSafety.install()
        let wanted = max(1, wanted)
        let loops = state.withLock { state in
            defer { state.taken += wanted }
            return (0..<wanted).map { loop(at: (state.taken + $0) % max(count, wanted), &state) }
        }
        let usable = loops.filter { !$0.isBroken }
        guard usable.count < loops.count else { return loops }
        for loop in loops { loop.submit { try? loop.makeReady() } }
        return usable.isEmpty ? loops : usable
    }

    private func loop(at index: Int, _ state: inout State) -> EventLoop {
        state.leaveParents()
        while index >= state.loops.count {
            state.loops.append(EventLoop(label: "\(label).\(state.loops.count)"))
        }
        return state.loops[index]
    }

    // MARK: - Forks

    func willFork() {
        state.lockBeforeFork()
    }

    /// Another of the parent's threads may have held a lock of Swift's runtime, which is never released in the child. So the child does no
    /// more than it must.
    func didFork(isChild: Bool) {
        if isChild { state.changeDuringFork { $0.isForked = true } }
        state.unlockAfterFork()
    }

    // MARK: - Process exit

    /// Called by the process's exit handler. Takes at most 2 seconds for all loops together.
    func stopForProcessExit() {
        let giveUp = MonotonicTime.now + .seconds(2)
        for loop in state.withLock({ $0.isForked ? [] : $0.loops }) { loop.stopForProcessExit(by: giveUp) }
    }
}
