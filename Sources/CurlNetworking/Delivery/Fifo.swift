/// What was put in first comes out first, in constant time on average.
struct Fifo<Element> {
    private var incoming: [Element] = []
    /// Ahead of those, in reverse.
    private var outgoing: [Element] = []

    var isEmpty: Bool { outgoing.isEmpty && incoming.isEmpty }
    var count: Int { outgoing.count + incoming.count }
    var first: Element? { outgoing.last ?? incoming.first }

    mutating func append(_ element: Element) {
        incoming.append(element)
    }

    mutating func append(contentsOf elements: some Sequence<Element>) {
        incoming.append(contentsOf: elements)
    }

    /// They come out next, in their order.
    mutating func prepend(contentsOf elements: some BidirectionalCollection<Element>) {
        outgoing.append(contentsOf: elements.reversed())
    }

    mutating func popFirst() -> Element? {
        if outgoing.isEmpty {
            outgoing = incoming.reversed()
            incoming.removeAll(keepingCapacity: true)
        }
        return outgoing.popLast()
    }

    /// Changes the element that was put in last, in place.
    mutating func updateLast(_ change: (inout Element) -> Void) {
        if !incoming.isEmpty {
            change(&incoming[incoming.count - 1])
        } else if !outgoing.isEmpty {
            change(&outgoing[0])
        }
    }
}

extension Fifo: Sendable where Element: Sendable {}
