import CurlTransport
import Foundation

/// Waits until its host is reachable. Loop only.
protocol ConnectivityWaiter: AnyObject {
    /// Called when the host may be reachable.
    func networkChanged()
}

/// The tasks of a session's pool that wait until their host is reachable. They are called when the network changes. Loop only.
///
/// The system is monitored only while a task waits.
final class ConnectivityWaiters {
    private let loop: EventLoop
    private let files: [String]
    /// The waiters and their arrival numbers, in whose order they are called.
    private var waiters: [ObjectIdentifier: (number: Int, waiter: any ConnectivityWaiter)] = [:]
    private var arrivals = 0
    private var monitor: NetworkMonitor?
    /// Changes come in bursts, and a new route is useless before it has its address, so there is one attempt per burst.
    private var settling: Deadline?
    private static let settlingTime = Duration.milliseconds(50)

    /// - Parameter files: Those that the system's resolver reads.
    init(loop: EventLoop, files: [String] = NetworkMonitor.resolverFiles) {
        (self.loop, self.files) = (loop, files)
    }

    func enter(_ waiter: any ConnectivityWaiter) {
        waiters[ObjectIdentifier(waiter)] = (arrivals, waiter)
        arrivals += 1
        guard monitor == nil else { return }
        settling = Deadline { [unowned self] in callAll() }
        monitor = NetworkMonitor(loop: loop, files: files) { [unowned self] in networkChanged() }
    }

    func leave(_ waiter: any ConnectivityWaiter) {
        waiters[ObjectIdentifier(waiter)] = nil
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
        // Each waiter leaves when it is called.
        for entry in waiters.values.sorted(by: { $0.number < $1.number }) { entry.waiter.networkChanged() }
    }
}

extension URLSession {
    /// Makes tasks that wait for their host retry soon, as after a network change; called by the agent when a program attaches, and by
    /// tests. Any thread.
    package func retryUnreachableHosts() {
        core.pools.visit { $0.connectivityWaiters.networkChanged() }
    }
}
