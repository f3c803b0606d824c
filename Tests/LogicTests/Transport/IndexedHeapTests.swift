import Testing

@testable import CurlTransport

@Suite("The indexed heap")
struct IndexedHeapTests {
    final class Item: IndexedHeapElement {
        var heapKey: Int
        var heapIndex: Int?

        init(_ key: Int) {
            heapKey = key
        }
    }

    @Test("Elements come out in the order of their keys")
    func order() {
        var heap = IndexedHeap<Item>()
        for key in [5, 3, 8, 1, 9, 2, 7, 3] { heap.insert(Item(key)) }
        var keys: [Int] = []
        while let item = heap.removeFirst() { keys.append(item.heapKey) }
        #expect(keys == [1, 2, 3, 3, 5, 7, 8, 9])
        #expect(heap.isEmpty)
        #expect(heap.first == nil)
    }

    @Test("Any element can be removed, and the others keep their order", arguments: 0..<15)
    func removal(position: Int) {
        var heap = IndexedHeap<Item>()
        let items = [10, 4, 15, 20, 0, 30, 2, 7, 31, 16, 17, 5, 6, 8, 9].map(Item.init)
        for item in items { heap.insert(item) }
        heap.remove(items[position])
        #expect(items[position].heapIndex == nil)
        var expected = items.map(\.heapKey)
        expected.remove(at: position)
        var keys: [Int] = []
        while let item = heap.removeFirst() { keys.append(item.heapKey) }
        #expect(keys == expected.sorted())
    }

    @Test("An element whose key changes finds its new place", arguments: 0..<15, [-1, 11, 100])
    func change(position: Int, key: Int) {
        var heap = IndexedHeap<Item>()
        let items = [10, 4, 15, 20, 0, 30, 2, 7, 31, 16, 17, 5, 6, 8, 9].map(Item.init)
        for item in items { heap.insert(item) }
        items[position].heapKey = key
        heap.keyChanged(of: items[position])
        let expected = items.map(\.heapKey).sorted()
        var keys: [Int] = []
        while let item = heap.removeFirst() { keys.append(item.heapKey) }
        #expect(keys == expected)
    }

    @Test("Removing what is in no heap does nothing")
    func absentElement() {
        var heap = IndexedHeap<Item>()
        let stranger = Item(0)
        let item = Item(1)
        heap.insert(item)
        heap.remove(stranger)
        #expect(heap.count == 1)
        heap.remove(item)
        heap.remove(item)
        #expect(heap.isEmpty)
        heap.insert(item)
        #expect(heap.first === item, "a removed element can come back")
    }

    @Test("A random life matches a sorted array's", arguments: 1...20 as ClosedRange<UInt64>)
    func randomised(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var heap = IndexedHeap<Item>()
        var model: [Item] = []
        for _ in 0..<2000 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                let item = Item(Int.random(in: 0..<300, using: &generator))
                heap.insert(item)
                model.append(item)
            case 5..<8 where !model.isEmpty:
                heap.remove(model.remove(at: Int.random(in: model.indices, using: &generator)))
            default:
                let first = heap.removeFirst()
                #expect(first?.heapKey == model.map(\.heapKey).min())
                model.removeAll { $0 === first }
            }
            #expect(heap.count == model.count)
            #expect(heap.first?.heapKey == model.map(\.heapKey).min())
        }
        #expect(Set(model.map(\.heapIndex)) == Set(model.indices.map { $0 }), "each knows a place of its own")
    }
}
