import Testing

@testable import Curl

@Suite("Batches")
struct BatchTests {
    @Test("What is taken comes in order, and what comes meanwhile waits for the next turn")
    func turns() {
        var batch = Batch<Int>()
        #expect(batch.isEmpty)
        batch.append(1)
        batch.append(2)
        let first = batch.take()
        #expect(first == [1, 2])
        #expect(batch.isEmpty)
        batch.append(3)
        batch.takeBack(first)
        #expect(batch.take() == [3])
        #expect(batch.take() == [])
    }

    @Test("Taking within a turn is no harm")
    func nested() {
        var batch = Batch<Int>()
        batch.append(1)
        let outer = batch.take()
        batch.append(2)
        let inner = batch.take()
        #expect(inner == [2])
        batch.takeBack(inner)
        batch.append(3)
        batch.takeBack(outer)
        #expect(batch.take() == [3])
    }

    @Test("Its memory serves again")
    func memory() {
        var batch = Batch<Int>()
        func turn() -> UnsafePointer<Int>? {
            for number in 0..<100 { batch.append(number) }
            let taken = batch.take()
            let place = taken.withUnsafeBufferPointer(\.baseAddress)
            batch.takeBack(taken)
            return place
        }
        let places = (0..<10).map { _ in turn() }
        #expect(Set(places).count <= 2)
    }
}
