/// What waits for its turn on a serial queue, in order, and whether somebody comes for it.
struct DeliveryLine<Element> {
    /// In order, and behind them those in `first`, in reverse.
    private var last: [Element] = []
    private var first: [Element] = []
    private var isScheduled = false

    var isEmpty: Bool { first.isEmpty && last.isEmpty }

    /// True when the caller must schedule a turn.
    mutating func add(_ elements: [Element]) -> Bool {
        last += elements
        guard !isScheduled, !isEmpty else { return false }
        isScheduled = true
        return true
    }

    /// Puts at the end what has had its turn and wants another.
    mutating func append(_ element: Element) {
        last.append(element)
    }

    /// Puts back, at the beginning, what has been taken and had no turn.
    mutating func putBack(_ elements: some BidirectionalCollection<Element>) {
        first += elements.reversed()
    }

    /// What has the next turn: one element, or all there are from the first on that can share one.
    mutating func next(sharing canShare: (Element) -> Bool) -> [Element] {
        guard let one = removeFirst() else { return [] }
        var turn = [one]
        guard canShare(one) else { return turn }
        while let next = peek, canShare(next) {
            _ = removeFirst()
            turn.append(next)
        }
        return turn
    }

    /// A turn is over. True when the caller must schedule another.
    mutating func goesOn() -> Bool {
        isScheduled = !isEmpty
        return isScheduled
    }

    private var peek: Element? { first.last ?? last.first }

    private mutating func removeFirst() -> Element? {
        if first.isEmpty {
            first = last.reversed()
            last.removeAll(keepingCapacity: true)
        }
        return first.popLast()
    }
}
