import Foundation
import CurlNetworkingLocks

/// The process's event loops. Sessions take them in turn and share them: one each of a small set, or as many as they ask for, for which
/// the set grows. A loop without work costs a few descriptors and neither a thread nor CPU. Any thread.
package final class EventLoopGroup: Sendable {
    package static let shared = EventLoopGroup(
        label: "CurlNetworking.loop",
        count: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount / 2))
    )

    /// The loops of FTP alone: libcurl waits for some of FTP's replies without returning, for a minute at worst.
    package static let ftp = EventLoopGroup(label: "CurlNetworking.ftp", count: 2)

    static let all = [shared, ftp]

    private let label: String
    private let count: Int
    private let state = Mutex(State())

    private struct State {
        var loops: [EventLoop] = []
        var taken = 0
        /// The loops of the process that this one was forked from: left alone, and never freed.
        var parents: [EventLoop] = []
    }

    init(label: String = "CurlNetworking.loop", count: Int) {
        self.label = label
        self.count = count
    }

    /// The loop whose turn it is; made at first use and never freed. Where the process is out of descriptors it can't run
    /// transfers, and the next call tries again.
    package func next() -> EventLoop {
        ForkSafety.install()
        return state.withLock { state in
            defer { state.taken += 1 }
            return loop(at: state.taken % count, &state)
        }
    }

    /// So many different loops, beginning with the one whose turn it is. Where the process is out of descriptors there are fewer, at least
    /// one, and that may be one that can't run transfers.
    package func next(_ wanted: Int) -> [EventLoop] {
        guard wanted > 1 else { return [next()] }
        ForkSafety.install()
        let loops = state.withLock { state in
            defer { state.taken += wanted }
            return (0..<wanted).map { loop(at: (state.taken + $0) % max(count, wanted), &state) }
        }
        let good = loops.filter { $0.failure == nil }
        return good.isEmpty ? Array(loops.prefix(1)) : good
    }

    private func loop(at index: Int, _ state: inout State) -> EventLoop {
        while index >= state.loops.count {
            let loop = EventLoop(label: "\(label).\(state.loops.count)")
            guard loop.failure == nil else { return loop }
            state.loops.append(loop)
        }
        return state.loops[index]
    }

    // MARK: - Forks

    func willFork() {
        state.lockBeforeFork()
    }

    /// A child makes loops of its own.
    func hasForked(isChild: Bool) {
        if isChild {
            state.changeDuringFork { state in
                state.parents += state.loops
                state.loops = []
            }
        }
        state.unlockAfterFork()
    }

    // MARK: - Process exit

    /// Called by the process's exit handler. Takes 2 seconds at most, for all loops together.
    func stopForProcessExit() {
        let giveUp = MonotonicTime.now + .seconds(2)
        for loop in state.withLock({ $0.loops }) { loop.stopForProcessExit(by: giveUp) }
    }
}
