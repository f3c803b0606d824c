import Foundation

/// A task's metrics, collected hop by hop for a delegate that may ask for them. Loop only.
struct HopLog {
    /// The numbers of first and last hops that are kept, since a server can cause a request with every few bytes it sends.
    private static let firstCount = 10
    private static let lastCount = 50

    private var hops: [HopMetrics] = []
    /// The current hop, if it doesn't measure itself.
    private var current: HopMeter?
    /// A last attempt that sent nothing, unless another hop follows.
    private var attempt: HopMetrics?

    mutating func begin(_ request: URLRequest?, _ transfer: any Transfer, isMeasured: @autoclosure () -> Bool) {
        (current, attempt) = (nil, nil)
        guard transfer.source != .network, let request, isMeasured() else { return }
        current = HopMeter(HopMetrics(request, source: transfer.source))
    }

    /// Sets the hop's response, whatever the task shows.
    mutating func note(_ response: URLResponse) {
        current?.metrics.response = TaskResponse(response)
    }

    /// Ends a hop whose transfer measures itself.
    mutating func end(_ transfer: any Transfer) {
        if let metrics = transfer.metrics { add(metrics) }
    }

    private mutating func add(_ hop: HopMetrics) {
        hops.append(hop)
        if hops.count > Self.firstCount + Self.lastCount { hops.remove(at: Self.firstCount) }
    }

    /// Ends a hop that doesn't measure itself, with the values that the task shows.
    mutating func endHop(of handle: TaskHandle) {
        guard var hop = current.take()?.metrics else { return }
        let (response, received) = handle.shared.withLock { ($0.response, $0.counters.received) }
        hop.end = Date()
        (hop.response, hop.receivedBodySize) = (hop.response ?? response, received)
        add(hop)
    }

    mutating func drop() {
        current = nil
    }

    /// Sets aside a last hop that sent nothing: it isn't a transaction, unless the task ends with it.
    mutating func forgetAttempt() {
        drop()
        if let last = hops.last, last.source == .network, last.statistics?.requestStarted == nil {
            attempt = hops.removeLast()
        }
    }

    /// Returns the collected metrics at the task's end.
    mutating func finish(for handle: TaskHandle, redirectCount: Int) -> TaskMetrics {
        endHop(of: handle)
        if let attempt { add(attempt) }
        // Hop times come from clocks other than `Date()`.
        let end = max(Date(), handle.creation, hops.last?.responseEnd ?? handle.creation)
        let interval = DateInterval(start: handle.creation, end: end)
        return TaskMetrics(hops: hops, interval: interval, redirectCount: redirectCount)
    }
}

extension TaskMetrics {
    /// Makes the last hop show the task's own response, unless that was synthesised.
    mutating func showLast(_ response: TaskResponse?) {
        guard let last = hops.indices.last, let response, let status = response.status,
            status == hops[last].head?.status
        else { return }
        hops[last].response = response
    }

    /// Shows the requests as the program knows them.
    mutating func showRequests(by shown: (URL) -> URL) {
        for index in hops.indices { hops[index].showRequest(by: shown) }
    }
}
