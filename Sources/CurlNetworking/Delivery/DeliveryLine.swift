/// Elements waiting in order for their turn on a serial queue, and whether a turn is scheduled.
struct DeliveryLine<Element> {
    private var waiting = Fifo<Element>()
    private var isScheduled = false

    var isEmpty: Bool { waiting.isEmpty }

    /// Returns true if the caller must schedule a turn.
    mutating func add(_ elements: [Element]) -> Bool {
        waiting.append(contentsOf: elements)
        guard !isScheduled, !isEmpty else { return false }
        isScheduled = true
        return true
    }

    /// Adds an element that has had its turn and needs another.
    mutating func append(_ element: Element) {
        waiting.append(element)
    }

    /// Returns to the front elements that were taken but had no turn.
    mutating func putBack(_ elements: some BidirectionalCollection<Element>) {
        waiting.prepend(contentsOf: elements)
    }

    /// The elements of the next turn: the first, and those directly behind it that can share its turn.
    mutating func next(sharing canShare: (_ first: Element, _ other: Element) -> Bool) -> [Element] {
        guard let first = waiting.popFirst() else { return [] }
        var turn = [first]
        while let next = waiting.first, canShare(first, next) {
            _ = waiting.popFirst()
            turn.append(next)
        }
        return turn
    }

    /// Ends a turn. Returns true if the caller must schedule another.
    mutating func endTurn() -> Bool {
        isScheduled = !isEmpty
        return isScheduled
    }
}
