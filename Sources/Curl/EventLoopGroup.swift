import Foundation
import Locks

/// The process's event loops. Sessions take them in turn and share them; a loop without work costs two descriptors and
/// neither a thread nor CPU. Any thread.
package final class EventLoopGroup: Sendable {
    package static let shared = EventLoopGroup(count: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount / 2)))

    private let count: Int
    private let state = Mutex(State())

    private struct State {
        var loops: [EventLoop] = []
        var taken = 0
    }

    init(count: Int) {
        self.count = count
    }

    /// The loop whose turn it is; made at first use and never freed. Where the process is out of descriptors it can't run
    /// transfers, and the next call tries again.
    package func next() -> EventLoop {
        state.withLock { state in
            defer { state.taken += 1 }
            let index = state.taken % count
            if index < state.loops.count { return state.loops[index] }
            let loop = EventLoop(label: "CurlNetworking.loop.\(state.loops.count)")
            if loop.failure == nil { state.loops.append(loop) }
            return loop
        }
    }

    /// Called by the process's exit handler.
    func stopForProcessExit() {
        for loop in state.withLock({ $0.loops }) {
            loop.stopForProcessExit(patience: .seconds(2))
        }
    }
}
