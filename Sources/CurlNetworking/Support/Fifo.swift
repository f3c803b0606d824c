/// A first-in, first-out queue with amortised constant-time operations.
struct Fifo<Element> {
    private var incoming: [Element] = []
    /// The oldest elements, in reverse.
    private var outgoing: [Element] = []

    var isEmpty: Bool { outgoing.isEmpty && incoming.isEmpty }
    var count: Int { outgoing.count + incoming.count }
    var first: Element? { outgoing.last ?? incoming.first }
    var last: Element? { incoming.last ?? outgoing.first }

    mutating func append(_ element: Element) {
        incoming.append(element)
    }

    mutating func append(contentsOf elements: some Sequence<Element>) {
        incoming.append(contentsOf: elements)
    }

    /// Puts `elements` at the front, in order.
    mutating func prepend(contentsOf elements: some BidirectionalCollection<Element>) {
        outgoing.append(contentsOf: elements.reversed())
    }

    mutating func popFirst() -> Element? {
        if outgoing.isEmpty {
            swap(&incoming, &outgoing)
            outgoing.reverse()
        }
        return outgoing.popLast()
    }

    func contains(where isWanted: (Element) -> Bool) -> Bool {
        incoming.contains(where: isWanted) || outgoing.contains(where: isWanted)
    }

    /// Keeps the order of the rest.
    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        incoming.removeAll(where: isUnwanted)
        outgoing.removeAll(where: isUnwanted)
    }

    /// Changes the newest element in place.
    mutating func updateLast(_ change: (inout Element) -> Void) {
        if !incoming.isEmpty {
            change(&incoming[incoming.count - 1])
        } else if !outgoing.isEmpty {
            change(&outgoing[0])
        }
    }
}

extension Fifo: Sendable where Element: Sendable {}
