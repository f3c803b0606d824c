import Curl
import Foundation

/// The tasks of a session's lane that wait for a way to their host, and what tells them that there may be one. Loop only.
///
/// The system is watched only while somebody waits.
final class WaitingRoom {
    private let loop: EventLoop
    private var runners: [Int: TaskRunner] = [:]
    private var monitor: NetworkMonitor?
    /// Changes come in bursts, and a new route is no good before it has its address: one try for all of it.
    private var settling: Deadline?
    private static let settlingTime = Duration.milliseconds(50)

    init(loop: EventLoop) {
        self.loop = loop
    }

    func enter(_ runner: TaskRunner) {
        runners[runner.identifier] = runner
        guard monitor == nil else { return }
        settling = Deadline { [unowned self] in callAll() }
        monitor = NetworkMonitor(loop: loop) { [unowned self] in networkChanged() }
    }

    func leave(_ runner: TaskRunner) {
        runners[runner.identifier] = nil
        guard runners.isEmpty else { return }
        monitor.take()?.close()
        if let settling = settling.take() { loop.cancel(settling) }
    }

    /// The system's network may have changed.
    func networkChanged() {
        guard let settling, !settling.isScheduled else { return }
        loop.schedule(settling, at: loop.now + Self.settlingTime)
    }

    private func callAll() {
        for (_, runner) in runners.sorted(by: { $0.key < $1.key }) { runner.networkChanged() }
    }
}

extension URLSession {
    /// Acts as if the system had told of a change of its network. For tests, which can't change that.
    package func simulateNetworkChange() {
        core.lanes.visit { $0.waitingRoom.networkChanged() }
    }
}
