import Testing

@testable import CurlNetworking

@Suite("A queue of elements")
struct FifoTests {
    @Test("The first element that was put in comes out first", arguments: 1...10 as ClosedRange<UInt64>)
    func order(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var fifo = Fifo<Int>()
        var expected: [Int] = []
        for number in 0..<2000 {
            switch Int.random(in: 0..<7, using: &generator) {
            case 0, 1:
                fifo.append(number)
                expected.append(number)
            case 2:
                fifo.append(contentsOf: [number, -number])
                expected += [number, -number]
            case 3:
                fifo.prepend(contentsOf: [number, -number])
                expected = [number, -number] + expected
            case 4:
                fifo.removeAll { $0.isMultiple(of: 7) }
                expected.removeAll { $0.isMultiple(of: 7) }
            default:
                let popped = fifo.popFirst()
                let first = expected.isEmpty ? nil : expected.removeFirst()
                #expect(popped == first)
            }
            #expect(fifo.count == expected.count && fifo.isEmpty == expected.isEmpty)
            #expect(fifo.first == expected.first && fifo.last == expected.last)
        }
    }

    @Test("Any element can be taken out, and the others keep their order")
    func removal() {
        var fifo = Fifo<Int>()
        fifo.append(contentsOf: 0..<10)
        #expect(fifo.popFirst() == 0)
        fifo.append(contentsOf: 10..<20)
        fifo.removeAll { $0 % 2 == 0 }
        #expect(fifo.count == 10)
        #expect((0..<10).map { _ in fifo.popFirst() } == Array(stride(from: 1, to: 20, by: 2)))
    }

    @Test("The last element can be changed in place, wherever it is")
    func last() {
        var fifo = Fifo<String>()
        fifo.updateLast { $0 += "nothing" }
        #expect(fifo.isEmpty)
        fifo.append(contentsOf: ["a", "b", "c"])
        fifo.updateLast { $0 += "1" }
        var popped = [fifo.popFirst()]
        fifo.updateLast { $0 += "2" }
        popped += [fifo.popFirst(), fifo.popFirst(), fifo.popFirst()]
        #expect(popped == ["a", "b", "c12", nil])
    }
}
