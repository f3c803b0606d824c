import Testing

@testable import CurlTransport

@Suite("Deadlines")
struct DeadlineTests {
    final class Log {
        var entries: [String] = []
    }

    let start = MonotonicTime.now
    let log = Log()

    func deadline(_ name: String) -> Deadline {
        Deadline { [log] in log.entries.append(name) }
    }

    func fireAll(_ queue: inout DeadlineQueue, at time: MonotonicTime) -> [String] {
        log.entries = []
        while let action = queue.popDue(at: time) { action() }
        return log.entries
    }

    @Test("Deadlines fire in order of time, and none before its time")
    func order() {
        var queue = DeadlineQueue()
        let deadlines = ["a", "b", "c"].map(deadline)
        queue.schedule(deadlines[0], at: start + .seconds(3))
        queue.schedule(deadlines[1], at: start + .seconds(1))
        queue.schedule(deadlines[2], at: start + .seconds(2))
        #expect(queue.earliest == start + .seconds(1))
        #expect(fireAll(&queue, at: start) == [])
        #expect(fireAll(&queue, at: start + .seconds(2)) == ["b", "c"])
        #expect(queue.earliest == start + .seconds(3))
        #expect(fireAll(&queue, at: start + .seconds(9)) == ["a"])
        #expect(queue.earliest == nil)
    }

    @Test("A deadline fires once, at the very time it is scheduled for")
    func once() {
        var queue = DeadlineQueue()
        let deadline = deadline("a")
        #expect(!deadline.isScheduled)
        queue.schedule(deadline, at: start)
        #expect(deadline.isScheduled)
        #expect(deadline.time == start)
        #expect(fireAll(&queue, at: start) == ["a"])
        #expect(!deadline.isScheduled)
        #expect(fireAll(&queue, at: start + .seconds(1)) == [])
    }

    @Test("Scheduling again replaces the time, to later and to earlier")
    func rescheduling() {
        var queue = DeadlineQueue()
        let (a, b) = (deadline("a"), deadline("b"))
        queue.schedule(a, at: start + .seconds(1))
        queue.schedule(b, at: start + .seconds(2))
        queue.schedule(a, at: start + .seconds(3))
        #expect(queue.earliest == start + .seconds(2))
        #expect(fireAll(&queue, at: start + .seconds(2)) == ["b"])
        queue.schedule(a, at: start + .seconds(1))
        #expect(fireAll(&queue, at: start + .seconds(1)) == ["a"])
    }

    @Test("A cancelled deadline doesn't fire, and can be scheduled again")
    func cancelling() {
        var queue = DeadlineQueue()
        let (a, b) = (deadline("a"), deadline("b"))
        queue.schedule(a, at: start)
        queue.schedule(b, at: start)
        queue.cancel(a)
        queue.cancel(a)
        #expect(fireAll(&queue, at: start) == ["b"])
        queue.schedule(a, at: start)
        #expect(fireAll(&queue, at: start) == ["a"])
    }

    @Test("A random life fires everything once, at its last time", arguments: 1...10 as ClosedRange<UInt64>)
    func randomised(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = DeadlineQueue()
        let deadlines = (0..<50).map { deadline("\($0)") }
        var due: [Int: Int] = [:]
        for now in 0..<500 {
            for _ in 0..<5 {
                let index = Int.random(in: deadlines.indices, using: &generator)
                if generator.chance(20) {
                    queue.cancel(deadlines[index])
                    due[index] = nil
                } else {
                    let time = now + Int.random(in: 0..<40, using: &generator)
                    queue.schedule(deadlines[index], at: start + .milliseconds(time))
                    due[index] = time
                }
            }
            let fired = fireAll(&queue, at: start + .milliseconds(now)).compactMap { Int($0) }
            #expect(Set(fired) == Set(due.filter { $0.value <= now }.keys))
            #expect(fired.compactMap { due[$0] } == fired.compactMap { due[$0] }.sorted())
            for index in fired { due[index] = nil }
        }
    }
}
