import TestSupport
import Testing

@testable import CurlTransport

/// What deadlines, cancelling and waiting for a place cost: all of them are changes of such a heap. Comparisons are counted, so that no
/// other program on the machine has a say.
@Suite("What a change of the indexed heap costs")
struct IndexedHeapCostTests {
    private final class Item: IndexedHeapElement {
        /// Counts how often it is compared.
        struct Key: Comparable {
            let value: Int
            let count: Counter

            static func < (a: Key, b: Key) -> Bool {
                a.count.number += 1
                return a.value < b.value
            }

            static func == (a: Key, b: Key) -> Bool { a.value == b.value }
        }

        final class Counter {
            var number = 0
        }

        var heapKey: Key
        var heapIndex: Int?

        init(_ value: Int, _ counter: Counter) {
            heapKey = Key(value: value, count: counter)
        }
    }

    @Test(
        "A new deadline, later than all others, takes one comparison, however many there are",
        arguments: [100, 100_000]
    )
    func append(count: Int) {
        let counter = Item.Counter()
        var heap = IndexedHeap<Item>()
        for value in 0..<count { heap.insert(Item(value, counter)) }
        counter.number = 0
        heap.insert(Item(count, counter))
        #expect(counter.number == 1)
    }

    @Test("Removing, moving and adding anywhere takes no more than three comparisons for each doubling of their number")
    func changes() {
        for count in [100, 10_000, 100_000] {
            let counter = Item.Counter()
            var generator = SeededGenerator(seed: 17)
            var heap = IndexedHeap<Item>()
            let items = (0..<count).map { _ in Item(Int.random(in: 0..<count, using: &generator), counter) }
            for item in items { heap.insert(item) }
            let most = 3 * (Int.bitWidth - count.leadingZeroBitCount)
            for item in items.shuffled(using: &generator).prefix(1000) {
                counter.number = 0
                heap.remove(item)
                #expect(counter.number <= most)
                counter.number = 0
                item.heapKey = Item.Key(value: Int.random(in: 0..<count, using: &generator), count: counter)
                heap.insert(item)
                #expect(counter.number <= most)
                counter.number = 0
                item.heapKey = Item.Key(value: Int.random(in: 0..<count, using: &generator), count: counter)
                heap.keyChanged(of: item)
                #expect(counter.number <= most)
            }
        }
    }
}
