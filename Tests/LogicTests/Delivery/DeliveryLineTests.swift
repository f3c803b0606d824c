import Testing

@testable import CurlNetworking

@Suite("What waits for a serial delegate queue")
struct DeliveryLineTests {
    private static func turn(_ line: inout DeliveryLine<Int>, shared: Bool) -> [Int] {
        line.next { _, _ in shared }
    }

    @Test("Each turn delivers one message, in order, and is scheduled once")
    func order() {
        var line = DeliveryLine<Int>()
        #expect(line.add([1, 2]) == true)
        #expect(line.add([3]) == false, "a turn is scheduled already")
        #expect(Self.turn(&line, shared: false) == [1])
        #expect(line.endTurn() == true)
        #expect(Self.turn(&line, shared: false) == [2])
        #expect(line.endTurn() == true)
        #expect(Self.turn(&line, shared: false) == [3])
        #expect(line.endTurn() == false)
        #expect(line.isEmpty)
        #expect(line.add([4]) == true, "the line had ended")
    }

    @Test("Adding nothing schedules nothing")
    func nothing() {
        var line = DeliveryLine<Int>()
        #expect(line.add([]) == false)
        #expect(Self.turn(&line, shared: true) == [])
        #expect(line.endTurn() == false)
    }

    @Test("Neighbouring messages share a turn if they can")
    func sharing() {
        var line = DeliveryLine<Int>()
        _ = line.add([2, 4, 6, 7, 8, 9, 11])
        var turns: [[Int]] = []
        repeat { turns.append(line.next { ($0 + $1).isMultiple(of: 2) }) } while line.endTurn()
        #expect(turns == [[2, 4, 6], [7], [8], [9, 11]])
    }

    @Test("A message that joins during a turn has the next one")
    func joining() {
        var line = DeliveryLine<Int>()
        _ = line.add([2])
        #expect(Self.turn(&line, shared: true) == [2])
        #expect(line.add([4]) == false)
        line.append(2)
        #expect(line.endTurn() == true)
        #expect(Self.turn(&line, shared: true) == [4, 2])
    }

    @Test("Messages that are put back come first, in their order")
    func puttingBack() {
        var line = DeliveryLine<Int>()
        _ = line.add([1, 2, 3])
        let turn = Self.turn(&line, shared: true)
        _ = line.add([4])
        line.putBack(turn[1...])
        #expect(line.endTurn() == true)
        #expect(Self.turn(&line, shared: true) == [2, 3, 4])
    }
}
