import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The queue of a stream task's reads and writes")
struct StreamQueueTests {
    var rig = StreamQueueRig()

    @Test("A read takes what has come once that is its minimum, and never more than its maximum")
    mutating func lengths() {
        rig.open()
        rig.read(3, 5, "a")
        #expect(rig.queue.wantedCount == 5)
        #expect(rig.receive("12") == [])
        #expect(rig.queue.wantedCount == 3)
        #expect(rig.receive("345678") == ["a: 12345"])
        #expect(rig.read(1, 2, "b") == ["b: 67"])
        #expect(rig.read(1, 9, "c") == ["c: 8"])
        #expect(rig.queue.wantedCount == 0)
    }

    @Test("Whatever was read before, the bytes of a read begin at index 0, and none is missing")
    func indices() {
        var queue = StreamQueue<Int, Int>()
        queue.opened(at: .now)
        let bytes = Data((0..<200).map { UInt8($0) })
        queue.received(bytes, at: .now)
        var all = Data()
        for maximum in [1, 30, 1, 90, 1, 2, 3, 60, 100] {
            queue.read(1, maximum, timeout: nil, 0, at: .now)
            guard case .finishRead(_, .read(let data, _))? = queue.next() else { continue }
            #expect(data.startIndex == 0)
            all.append(data)
        }
        #expect(all == bytes)
        #expect(queue.surplus.isEmpty)
    }

    @Test("When both directions are closed, later reads and writes are told so, even while the task is suspended")
    mutating func suspendedAfterClosing() {
        rig.open()
        rig.closeRead()
        #expect(rig.closeWrite().last == "end")
        rig.setPaused(true)
        #expect(rig.read(1, 2, "a") == ["a: readClosed"])
        #expect(rig.write("1", "b") == ["b failed: writeClosed"])
    }

    @Test("Nothing is read while no read waits")
    mutating func noReadAhead() {
        rig.open()
        #expect(rig.queue.wantedCount == 0)
        rig.read(1, 9, "a")
        #expect(rig.queue.wantedCount == 9)
    }

    @Test("A minimum of 0 or less counts as 1", arguments: [0, -1, Int.min])
    func noMinimum(_ minimum: Int) {
        var rig = StreamQueueRig()
        rig.open()
        #expect(rig.read(minimum, 9, "a") == [])
        #expect(rig.receive("1") == ["a: 1"])
    }

    @Test("A read whose maximum is below its minimum fails at once", arguments: [(2, 1), (0, 0), (1, -1)])
    func impossibleLengths(_ minimum: Int, _ maximum: Int) {
        var rig = StreamQueueRig()
        #expect(rig.read(minimum, maximum, "a") == ["a: invalidLength"])
    }

    @Test("Reads and writes keep their order, and don't hold each other up")
    mutating func order() {
        rig.read(1, 9, "a")
        rig.read(1, 9, "b")
        rig.write("123", "c")
        rig.write("45", "d")
        rig.open()
        #expect(rig.unwritten == "123")
        #expect(rig.wrote(2) == [])
        #expect(rig.unwritten == "3")
        #expect(rig.wrote(1) == ["c written"])
        #expect(rig.unwritten == "45")
        #expect(rig.receive("x") == ["a: x"])
        #expect(rig.wrote(2) == ["d written"])
        #expect(rig.receive("y") == ["b: y"])
    }

    @Test("An empty write is done when its turn has come")
    mutating func emptyWrite() {
        rig.write("1", "a")
        rig.write("", "b")
        #expect(rig.open() == [])
        #expect(rig.wrote(1) == ["a written", "b written"])
    }

    @Test(
        "At the other side's end a read gets what is there, though it is less than its minimum, and later ones the end"
    )
    mutating func end() {
        rig.open()
        rig.read(5, 9, "a")
        rig.receive("12")
        #expect(rig.receiveEnd() == ["read closed", "a: 12 at the end"])
        #expect(rig.read(1, 9, "b") == ["b:  at the end"])
    }

    @Test("The end comes with the last byte, not before it")
    mutating func endAfterSurplus() {
        rig.open()
        rig.read(1, 2, "a")
        rig.receive("12345")
        rig.receiveEnd()
        #expect(rig.read(1, 2, "b") == ["b: 34"])
        #expect(rig.read(1, 2, "c") == ["c: 5 at the end"])
    }

    @Test("Bytes that arrive after the end are dropped, and don't keep the task from ending", arguments: [false, true])
    func afterEnd(isEndOfProgram: Bool) {
        var rig = StreamQueueRig()
        rig.open()
        #expect((isEndOfProgram ? rig.closeRead() : rig.receiveEnd()) == ["read closed"])
        #expect(rig.receive("late") == [])
        #expect(rig.queue.surplus.isEmpty)
        #expect(rig.read(1, 9, "a") == (isEndOfProgram ? ["a: readClosed"] : ["a:  at the end"]))
        #expect(rig.closeWrite() == ["close writing", "write closed", "end"])
    }

    @Test("A read's time begins when its turn has come, and what came before it ran out is the next one's")
    mutating func readTimeouts() {
        rig.open()
        rig.read(4, 9, "a", timeout: 10)
        rig.read(4, 9, "b", timeout: 10)
        #expect(rig.end == 10)
        rig.receive("123")
        #expect(rig.pass(9) == [])
        #expect(rig.pass(10) == ["a: timedOut"])
        #expect(rig.end == 20)
        #expect(rig.receive("4") == ["b: 1234"])
        #expect(rig.end == nil)
    }

    @Test("Before there is a connection, no time runs")
    mutating func timeBeforeConnection() {
        rig.read(1, 9, "a", timeout: 10)
        rig.write("1", "b", timeout: 10)
        #expect(rig.end == nil)
        rig.pass(100)
        rig.open()
        #expect(rig.end == 110)
    }

    @Test("After a write that has timed out, nothing more is written, but reading goes on")
    mutating func writeTimeouts() {
        rig.open()
        rig.write("12", "a", timeout: 5)
        rig.write("34", "b", timeout: 5)
        #expect(rig.end == 5)
        #expect(rig.pass(5) == ["a failed: timedOut", "write closed", "b failed: timedOut"])
        #expect(rig.write("7", "c") == ["c failed: timedOut"])
        #expect(rig.unwritten == nil)
        rig.read(1, 1, "d")
        #expect(rig.receive("8") == ["d: 8"])
        #expect(rig.closeRead() == ["read closed", "end"])
        #expect(rig.queue.hasWriteTimedOut)
    }

    @Test("While the task is suspended nothing moves, and no time runs")
    mutating func pause() {
        rig.open()
        rig.read(2, 9, "a", timeout: 10)
        rig.write("1", "b", timeout: 10)
        rig.pass(4)
        rig.setPaused(true)
        #expect(rig.queue.wantedCount == 0 && rig.unwritten == nil && rig.end == nil)
        #expect(rig.pass(50) == [])
        #expect(rig.receive("12") == [])
        #expect(rig.setPaused(false) == ["a: 12"])
        #expect(rig.end == 56)
        #expect(rig.pass(56) == ["b failed: timedOut", "write closed"])
    }

    @Test("closeWrite comes after what is to be written, and doesn't wait for reads")
    mutating func closeWrite() {
        rig.open()
        rig.read(1, 9, "a")
        rig.write("1", "b")
        #expect(rig.closeWrite() == [])
        rig.write("2", "c")
        #expect(rig.wrote(1) == ["b written", "close writing", "write closed", "c failed: writeClosed"])
        #expect(rig.receive("x") == ["a: x"])
    }

    @Test("closeRead comes after what is to be read, and doesn't wait for writes")
    mutating func closeRead() {
        rig.open()
        rig.write("1", "a")
        rig.read(1, 9, "b")
        rig.closeRead()
        rig.read(1, 9, "c")
        #expect(rig.receive("x") == ["b: x", "read closed", "c: readClosed"])
        #expect(rig.queue.wantedCount == 0)
        #expect(rig.wrote(1) == ["a written"])
    }

    @Test("The task is over when both directions are closed", arguments: [true, false])
    func bothClosed(_ byOtherSide: Bool) {
        var rig = StreamQueueRig()
        rig.open()
        #expect(rig.closeWrite() == ["close writing", "write closed"])
        #expect((byOtherSide ? rig.receiveEnd() : rig.closeRead()) == ["read closed", "end"])
        #expect(rig.read(1, 9, "a") == [byOtherSide ? "a:  at the end" : "a: readClosed"])
        #expect(rig.write("1", "b") == ["b failed: writeClosed"])
        #expect(rig.add(.startTLS) == [])
        #expect(rig.read(1, 9, "c").count == 1)
    }

    @Test("A transition waits for what came before it, and what comes after waits for it")
    mutating func transition() {
        rig.open()
        rig.read(1, 9, "a")
        rig.write("1", "b")
        #expect(rig.add(.startTLS) == [])
        rig.read(1, 9, "c")
        rig.write("2", "d", timeout: 5)
        #expect(rig.wrote(1) == ["b written"])
        #expect(rig.unwritten == nil)
        #expect(rig.receive("x") == ["a: x", "begin startTLS"])
        #expect(rig.queue.wantedCount == 0 && rig.unwritten == nil && rig.end == nil)
        rig.transitionEnded()
        #expect(rig.queue.wantedCount == 9 && rig.unwritten == "2" && rig.end == 5)
        #expect(rig.receive("y") == ["c: y"])
        #expect(rig.wrote(1) == ["d written"])
    }

    @Test("A transition has as long as is said, and its time stands still while the task is suspended")
    mutating func transitionTimeouts() {
        rig.open()
        rig.add(.startTLS)
        rig.limitTransition(to: 10)
        #expect(rig.end == 10)
        rig.pass(4)
        rig.setPaused(true)
        #expect(rig.end == nil && rig.pass(50) == [])
        rig.setPaused(false)
        #expect(rig.end == 56)
        #expect(rig.pass(55) == [])
        #expect(rig.pass(56) == ["transition timed out"])
        #expect(rig.end == nil && rig.pass(57) == [])
    }

    @Test("A transition whose time begins anew amid a suspension has all of it afterwards")
    mutating func transitionTimeInPause() {
        rig.open()
        rig.add(.startTLS)
        rig.setPaused(true)
        rig.pass(20)
        rig.limitTransition(to: 10)
        rig.pass(40)
        rig.setPaused(false)
        #expect(rig.end == 50)
    }

    @Test("Without a limit, or when it is over, a transition has no time-out")
    mutating func transitionsWithoutTimeout() {
        rig.open()
        #expect(rig.limitTransition(to: 1) == [] && rig.end == nil)
        rig.add(.startTLS)
        rig.limitTransition(to: 1)
        rig.limitTransition(to: nil)
        #expect(rig.end == nil)
        rig.limitTransition(to: 1)
        rig.transitionEnded()
        #expect(rig.end == nil)
        rig.add(.stopTLS)
        rig.limitTransition(to: 1)
        rig.fail()
        #expect(rig.end == nil)
    }

    @Test("Transitions follow each other")
    mutating func transitions() {
        rig.add(.startTLS)
        rig.add(.stopTLS)
        #expect(rig.open() == ["begin startTLS"])
        #expect(rig.transitionEnded() == ["begin stopTLS"])
        #expect(rig.transitionEnded() == [])
    }

    @Test("A failure ends everything that waits, and whatever comes later")
    mutating func failure() {
        rig.open()
        rig.read(5, 9, "a")
        rig.receive("12")
        rig.read(1, 9, "b")
        rig.write("1", "c")
        rig.write("2", "d")
        rig.add(.startTLS)
        rig.read(1, 9, "e")
        rig.write("3", "f")
        #expect(
            rig.fail() == [
                "a: lost with 12", "c failed: lost", "b: lost", "d failed: lost", "e: lost", "f failed: lost",
            ]
        )
        #expect(rig.fail() == [])
        #expect(rig.read(1, 9, "g") == ["g: lost"])
        #expect(rig.write("1", "h") == ["h failed: lost"])
        #expect(rig.receive("x") == [] && rig.receiveEnd() == [] && rig.transitionEnded() == [])
    }

    @Test("After a failure, what had arrived can still be read; the read for which it isn't enough gets the rest of it")
    mutating func unreadAtFailure() {
        rig.open()
        rig.read(1, 2, "a")
        rig.receive("1234567")
        rig.write("1", "b")
        #expect(rig.fail() == ["b failed: lost"])
        #expect(rig.read(1, 2, "c") == ["c: 34"])
        #expect(rig.read(4, 9, "d") == ["d: lost with 567"])
        #expect(rig.read(1, 9, "e") == ["e: lost"])
    }

    @Test("Reads that wait at a failure get what has arrived, in their order")
    mutating func waitingAtFailure() {
        rig.open()
        rig.setPaused(true)
        rig.read(2, 3, "a")
        rig.read(1, 1, "b")
        rig.read(2, 9, "c")
        rig.receive("12345")
        #expect(rig.fail() == ["a: 123", "b: 4", "c: lost with 5"])
    }

    @Test("A reader that can't take bytes together with a failure leaves them to the next read")
    mutating func bytesWithoutTaker() {
        rig.open()
        rig.read(9, 9, "a", takesBytesOnFailure: false)
        rig.read(4, 9, "b", takesBytesOnFailure: false)
        rig.receive("123")
        #expect(rig.fail() == ["a: lost", "b: lost"])
        #expect(rig.read(1, 2, "c", takesBytesOnFailure: false) == ["c: 12"])
        #expect(rig.read(2, 2, "d") == ["d: lost with 3"])
    }

    @Test("After a cancellation or a capture nothing can be read", arguments: [StreamQueueRig.cancelled, .captured])
    func dropped(_ failure: StreamFailure) {
        var rig = StreamQueueRig()
        let name = failure == .captured ? "captured" : "cancelled"
        rig.open()
        rig.read(1, 1, "a")
        rig.receive("123")
        rig.read(5, 9, "b", takesBytesOnFailure: false)
        #expect(rig.fail(failure) == ["b: \(name)"])
        #expect(rig.queue.surplus.isEmpty)
        #expect(rig.receive("4") == [] && rig.read(1, 9, "c") == ["c: \(name)"])
    }

    @Test(
        "Bytes that arrived before a transition aren't for reads after it, even if the task fails instead",
        arguments: ["waiting", "begun", "late"]
    )
    func failureInsteadOfTransition(_ stage: String) {
        var rig = StreamQueueRig()
        rig.open()
        rig.read(1, 1, "a")
        rig.receive("1injected")
        rig.setPaused(stage == "waiting")
        if stage != "late" { rig.add(.startTLS) }
        rig.read(1, 9, "b")
        if stage == "late" {
            rig.fail()
            #expect(rig.add(.startTLS) == [])
        } else {
            #expect(rig.fail() == ["b: lost"])
        }
        #expect(rig.read(1, 9, "c") == ["c: lost"])
    }

    @Test("closeRead drops what had arrived, before a failure and after it", arguments: [true, false])
    func closeReadAtFailure(isBefore: Bool) {
        var rig = StreamQueueRig()
        rig.open()
        rig.read(1, 1, "a")
        rig.receive("123")
        rig.setPaused(true)
        if isBefore { rig.closeRead() }
        rig.fail()
        if !isBefore { rig.closeRead() }
        #expect(rig.queue.surplus.isEmpty)
        #expect(rig.read(1, 9, "b") == ["b: lost"])
    }

    @Test("The other side's end stays the end after a failure")
    mutating func endAtFailure() {
        rig.open()
        rig.read(1, 1, "a")
        rig.receive("123")
        rig.receiveEnd()
        rig.fail()
        #expect(rig.read(5, 9, "b") == ["b: 23 at the end"])
        #expect(rig.read(1, 9, "c") == ["c:  at the end"])
    }
}
