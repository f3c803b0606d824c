import Testing

@testable import CurlNetworking

@Suite("What was used longest ago goes first")
struct LeastRecentlyUsedTests {
    @Test("A value that is used stays longer, and one that is only looked at doesn't")
    func order() {
        var values = LeastRecentlyUsed<Int>(capacity: 3)
        for number in 1...3 { values.insert(number, for: "\(number)", cost: 1) }
        #expect(values.use("1") == 1)
        #expect(values.peek("2") == 2)
        values.insert(4, for: "4", cost: 1)
        #expect(values.keys.sorted() == ["1", "3", "4"])
        values.capacity = 1
        #expect(values.keys.sorted() == ["4"])
        #expect(values.totalCost == 1)
    }

    @Test("A value that is larger than the capacity is not kept, nor is the one that it would replace")
    func tooLarge() {
        var values = LeastRecentlyUsed<Int>(capacity: 3)
        values.insert(1, for: "a", cost: 1)
        values.insert(2, for: "b", cost: 2)
        values.insert(3, for: "a", cost: 4)
        #expect(values.keys.sorted() == ["b"])
        #expect(values.totalCost == 2)
    }

    @Test("Any sequence of changes leaves what a simple list would", arguments: 0..<20)
    func model(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var values = LeastRecentlyUsed<Int>(capacity: 20)
        // From the one used longest ago.
        var model: [(key: String, value: Int, cost: Int)] = []
        for step in 0..<500 {
            let key = "\(Int.random(in: 0..<12, using: &generator))"
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                let index = model.firstIndex { $0.key == key }
                #expect(values.use(key) == index.map { model[$0].value })
                if let index { model.append(model.remove(at: index)) }
            case 1:
                values.remove(key)
                model.removeAll { $0.key == key }
            default:
                let cost = Int.random(in: 1...8, using: &generator)
                values.insert(step, for: key, cost: cost)
                model.removeAll { $0.key == key }
                model.append((key, step, cost))
                while model.reduce(0, { $0 + $1.cost }) > 20 { model.removeFirst() }
            }
            #expect(values.keys.sorted() == model.map(\.key).sorted())
            #expect(values.totalCost == model.reduce(0) { $0 + $1.cost })
            #expect(values.count == model.count)
        }
    }
}
