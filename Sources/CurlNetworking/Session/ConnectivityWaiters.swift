import CurlTransport
import Foundation

/// Waits for a way to its host. Loop only.
protocol ConnectivityWaiter: AnyObject {
    /// There may be a way now.
    func networkChanged()
}

/// The tasks of a session's pool that wait for a way to their host, and what tells them that there may be one. Loop only.
///
/// The system is watched only while somebody waits.
final class ConnectivityWaiters {
    private let loop: EventLoop
    /// In the order in which they came.
    private var waiters: [any ConnectivityWaiter] = []
    private var monitor: NetworkMonitor?
    /// Changes come in bursts, and a new route is no good before it has its address: one try for all of it.
    private var settling: Deadline?
    private static let settlingTime = Duration.milliseconds(50)

    init(loop: EventLoop) {
        self.loop = loop
    }

    func enter(_ waiter: any ConnectivityWaiter) {
        waiters.append(waiter)
        guard monitor == nil else { return }
        settling = Deadline { [unowned self] in callAll() }
        monitor = NetworkMonitor(loop: loop) { [unowned self] in networkChanged() }
    }

    func leave(_ waiter: any ConnectivityWaiter) {
        waiters.removeAll { $0 === waiter }
        guard waiters.isEmpty else { return }
        monitor.take()?.close()
        if let settling = settling.take() { loop.cancel(settling) }
    }

    /// The system's network may have changed.
    func networkChanged() {
        guard let settling, !settling.isScheduled else { return }
        loop.schedule(settling, at: loop.now + Self.settlingTime)
    }

    private func callAll() {
        for waiter in waiters { waiter.networkChanged() }
    }
}

extension URLSession {
    /// Acts as if the system had told of a change of its network. For tests, which can't change that.
    package func simulateNetworkChange() {
        core.pools.visit { $0.connectivityWaiters.networkChanged() }
    }
}
