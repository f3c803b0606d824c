/// When to wake what: a binary heap, earliest first. A deadline is never removed; whatever is woken checks
/// whether it still waits for that instant.
struct DeadlineQueue {
    private struct Entry {
        let instant: ContinuousClock.Instant
        let token: UInt64
    }

    private var heap: [Entry] = []

    var earliest: ContinuousClock.Instant? { heap.first?.instant }

    mutating func insert(_ instant: ContinuousClock.Instant, token: UInt64) {
        heap.append(Entry(instant: instant, token: token))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].instant < heap[parent].instant else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes the earliest deadline if `now` has reached it.
    mutating func popExpired(at now: ContinuousClock.Instant) -> UInt64? {
        guard let first = heap.first, first.instant <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            siftDown()
        }
        return first.token
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var earliest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].instant < heap[earliest].instant { earliest = child }
            }
            guard earliest != parent else { return }
            heap.swapAt(parent, earliest)
            parent = earliest
        }
    }
}
