import Testing

@testable import CurlTransport

@Suite("Work lists")
struct WorkListTests {
    @Test("Work is taken in order, and what comes meanwhile waits for the next turn")
    func turns() {
        var list = WorkList<Int>()
        #expect(list.isEmpty)
        list.append(1)
        list.append(2)
        let first = list.take()
        #expect(first == [1, 2])
        #expect(list.isEmpty)
        list.append(3)
        list.recycle(first)
        #expect(list.take() == [3])
        #expect(list.take() == [])
    }

    @Test("Taking within a turn is no harm")
    func nested() {
        var list = WorkList<Int>()
        list.append(1)
        let outer = list.take()
        list.append(2)
        let inner = list.take()
        #expect(inner == [2])
        list.recycle(inner)
        list.append(3)
        list.recycle(outer)
        #expect(list.take() == [3])
    }

    @Test("A work list's memory is used again")
    func memory() {
        var list = WorkList<Int>()
        func turn() -> UnsafePointer<Int>? {
            for number in 0..<100 { list.append(number) }
            let taken = list.take()
            let place = taken.withUnsafeBufferPointer(\.baseAddress)
            list.recycle(taken)
            return place
        }
        let places = (0..<10).map { _ in turn() }
        #expect(Set(places).count <= 2)
    }
}
