import Foundation

/// A task's metrics, collected hop by hop for a delegate that may ask for them. Loop only.
struct HopLog {
    /// How many hops are kept of a task with very many: a server may have it send a request for every few of its bytes.
    private static let firstCount = 10
    private static let lastCount = 50

    private var hops: [HopMetrics] = []
    /// The current hop, if it doesn't measure itself.
    private var current: HopMeter?
    /// An attempt that sent nothing, as long as no other follows.
    private var attempt: HopMetrics?

    /// A hop begins.
    mutating func begin(_ request: URLRequest?, _ transfer: any Transfer, isMeasured: @autoclosure () -> Bool) {
        (current, attempt) = (nil, nil)
        guard transfer.source != .network, let request, isMeasured() else { return }
        current = HopMeter(HopMetrics(request, source: transfer.source))
    }

    /// Sets the hop's response, whatever the task shows.
    mutating func note(_ response: URLResponse) {
        current?.metrics.response = TaskResponse(response)
    }

    /// The transfer of a hop that measures itself is over.
    mutating func end(_ transfer: any Transfer) {
        if let metrics = transfer.metrics { add(metrics) }
    }

    private mutating func add(_ hop: HopMetrics) {
        hops.append(hop)
        if hops.count > Self.firstCount + Self.lastCount { hops.remove(at: Self.firstCount) }
    }

    /// A hop that doesn't measure itself is over; uses what the task shows.
    mutating func endHop(of handle: TaskHandle) {
        guard var hop = current.take()?.metrics else { return }
        let (response, received) = handle.shared.withLock { ($0.response, $0.counters.received) }
        hop.end = Date()
        (hop.response, hop.receivedBodySize) = (hop.response ?? response, received)
        add(hop)
    }

    /// The current hop comes to nothing.
    mutating func drop() {
        current = nil
    }

    /// If the last hop was an attempt that sent nothing, it isn't a transaction, unless the task ends with it.
    mutating func forgetAttempt() {
        drop()
        if let last = hops.last, last.source == .network, last.statistics?.requestStarted == nil {
            attempt = hops.removeLast()
        }
    }

    /// All that is kept, at the task's end.
    mutating func finish(for handle: TaskHandle, redirectCount: Int) -> TaskMetrics {
        endHop(of: handle)
        if let attempt { add(attempt) }
        // Hop times come from other clocks than `Date()`.
        let end = max(Date(), handle.creation, hops.last?.responseEnd ?? handle.creation)
        let interval = DateInterval(start: handle.creation, end: end)
        return TaskMetrics(hops: hops, interval: interval, redirectCount: redirectCount)
    }
}

extension TaskMetrics {
    /// Of several responses the last is the task's own, unless that was synthesised.
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
