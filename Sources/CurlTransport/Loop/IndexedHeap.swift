/// An element of an `IndexedHeap`: it knows its key and remembers its index in the heap.
public protocol IndexedHeapElement: AnyObject {
    associatedtype Key: Comparable

    /// If it changes while the element is in a heap, call `keyChanged(of:)` at once.
    var heapKey: Key { get }

    /// Written only by the heap; nil while the element is in none. An element is in at most one heap.
    var heapIndex: Int? { get set }
}

/// A binary min-heap from which any element can be removed in O(log n), because each knows its index.
///
/// It orders deadlines on a loop and requests waiting for a connection. Appending a key larger than all others, the common case for both,
/// costs O(1).
public struct IndexedHeap<Element: IndexedHeapElement> {
    @usableFromInline
    var elements: [Element] = []

    package init() {}

    package var first: Element? { elements.first }
    package var count: Int { elements.count }
    /// Called for every request: public for the same reason as `Mutex`.
    @inlinable
    public var isEmpty: Bool { elements.isEmpty }

    package mutating func insert(_ element: Element) {
        precondition(element.heapIndex == nil, "the element is in a heap already")
        elements.append(element)
        element.heapIndex = elements.count - 1
        siftUp(from: elements.count - 1)
    }

    /// Removes `element`; does nothing if it isn't in a heap.
    package mutating func remove(_ element: Element) {
        guard let index = element.heapIndex else { return }
        precondition(elements[index] === element, "the element is in another heap")
        element.heapIndex = nil
        let last = elements.removeLast()
        guard index < elements.count else { return }
        elements[index] = last
        last.heapIndex = index
        siftUp(from: index)
        siftDown(from: index)
    }

    /// Moves `element`, whose key has just changed, to its new place; does nothing if it isn't in a heap.
    package mutating func keyChanged(of element: Element) {
        guard let index = element.heapIndex else { return }
        siftUp(from: index)
        siftDown(from: element.heapIndex ?? index)
    }

    package mutating func removeFirst() -> Element? {
        guard let first = elements.first else { return nil }
        remove(first)
        return first
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard elements[index].heapKey < elements[parent].heapKey else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        while true {
            var child = 2 * index + 1
            guard child < elements.count else { return }
            if child + 1 < elements.count, elements[child + 1].heapKey < elements[child].heapKey {
                child += 1
            }
            guard elements[child].heapKey < elements[index].heapKey else { return }
            swap(index, child)
            index = child
        }
    }

    private mutating func swap(_ a: Int, _ b: Int) {
        elements.swapAt(a, b)
        elements[a].heapIndex = a
        elements[b].heapIndex = b
    }
}
