import Foundation

// What a task has cost, gathered hop by hop for a delegate that may ask. Everything on the loop.

extension TaskRunner.Shared {
    /// Whether some delegate, the task's own or the session's, could want to hear of the task, whoever gets its result.
    func isWatched(in session: SessionCore) -> Bool {
        session.hasTaskDelegate || delegates.task != nil
    }
}

extension TaskRunner {
    /// A hop begins that is no exchange.
    func startHop(_ source: HopMetrics.Source) {
        let request = shared.withLock { $0.isWatched(in: session) ? $0.currentRequest : nil }
        if let request { loading.hopWithoutExchange = HopMetrics(request, source: source) }
    }

    /// Such a hop is over.
    func endHop() {
        guard var hop = loading.hopWithoutExchange.take() else { return }
        hop.end = Date()
        let (response, received) = shared.withLock { ($0.response, $0.counters.received) }
        (hop.response, hop.receivedBodySize) = (hop.response ?? response, received)
        loading.hops.append(hop)
    }

    /// An exchange is over, or was cancelled.
    func keepMetrics(of exchange: Exchange) {
        if let metrics = exchange.metrics { loading.hops.append(metrics) }
    }

    /// The task is over: what was gathered is ready for its delegate.
    func settleMetrics() {
        endHop()
        var hops = loading.hops
        loading.hops = []
        let redirectCount = loading.redirectCount
        shared.withLock { shared in
            // Of several answers the last is the task's own, unless that had to be made up.
            if let last = hops.indices.last, let response = shared.response as? HTTPURLResponse,
                response.statusCode == hops[last].head?.status
            {
                hops[last].response = response
            }
            let interval = DateInterval(start: creation, end: max(creation, Date()))
            shared.metrics = TaskMetrics(hops: hops, interval: interval, redirectCount: redirectCount)
        }
    }
}
