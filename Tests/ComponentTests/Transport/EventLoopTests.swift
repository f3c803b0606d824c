import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlTransport

@Suite("The event loop", .timeLimit(.minutes(1)))
struct EventLoopTests {
    let loop = EventLoopGroup.shared.next()

    /// What the loop has done, in order. Loop only until `done` is open.
    final class Log: @unchecked Sendable {
        var entries: [String] = []
        var deadlines: [Deadline] = []
        let done = Gate()
    }

    let log = Log()

    @Test("Work runs on the loop in the order it was submitted")
    func submitOrder() async throws {
        for index in 0..<1000 {
            loop.submit { [loop, log] in
                loop.preconditionOnLoop()
                log.entries.append("\(index)")
            }
        }
        loop.submit { [log] in log.done.open() }
        try await log.done.wait()
        #expect(log.entries == (0..<1000).map { "\($0)" })
    }

    @Test("Each thread's work keeps its order, and none is lost")
    func submitFromManyThreads() async throws {
        let count = 2000
        let orders = Watched([[Int]](repeating: [], count: 4))
        for thread in 0..<4 {
            onOtherThread { [loop] in
                for index in 0..<count {
                    loop.submit { orders.update { $0[thread].append(index) } }
                }
            }
        }
        try await orders.wait { $0.allSatisfy { $0.count == count } }
        #expect(orders.value == Array(repeating: Array(0..<count), count: 4))
    }

    @Test("Work submitted from the loop runs behind the work that is there, not within it")
    func submitFromLoop() async throws {
        loop.submit { [loop, log] in
            loop.submit { log.entries.append("inner") }
            loop.submit { log.done.open() }
            log.entries.append("outer")
        }
        try await log.done.wait()
        #expect(log.entries == ["outer", "inner"])
    }

    @Test("Deadlines fire in order of their time, without any work being submitted")
    func deadlines() async throws {
        loop.submit { [loop, log] in
            for delay in [30, 10, 20, 0] {
                let deadline = Deadline {
                    log.entries.append("\(delay)")
                    if delay == 30 { log.done.open() }
                }
                log.deadlines.append(deadline)
                loop.schedule(deadline, at: loop.now + .milliseconds(delay))
            }
        }
        try await log.done.wait()
        #expect(log.entries == ["0", "10", "20", "30"])
    }

    @Test("A deadline doesn't fire before its time")
    func deadlineTime() async throws {
        let start = MonotonicTime.now
        loop.submit { [loop, log] in
            let deadline = Deadline { log.done.open() }
            log.deadlines = [deadline]
            loop.schedule(deadline, at: start + .milliseconds(50))
        }
        try await log.done.wait()
        #expect(MonotonicTime.now - start >= .milliseconds(50))
    }

    @Test("A cancelled deadline doesn't fire, and one that is moved fires at its new place")
    func changedDeadlines() async throws {
        loop.submit { [loop, log] in
            let names = ["cancelled", "moved later", "moved earlier", "last"]
            log.deadlines = names.map { name in
                Deadline {
                    log.entries.append(name)
                    if name == "last" { log.done.open() }
                }
            }
            for (index, delay) in [5, 10, 1000_000, 40].enumerated() {
                loop.schedule(log.deadlines[index], at: loop.now + .milliseconds(delay))
            }
            loop.cancel(log.deadlines[0])
            loop.schedule(log.deadlines[1], at: loop.now + .milliseconds(30))
            loop.schedule(log.deadlines[2], at: loop.now + .milliseconds(20))
        }
        try await log.done.wait()
        #expect(log.entries == ["moved earlier", "moved later", "last"])
    }

    @Test("A deadline can schedule itself again")
    func periodicDeadline() async throws {
        loop.submit { [loop, log] in
            let deadline = Deadline {
                log.entries.append("tick")
                guard let deadline = log.deadlines.first, log.entries.count < 5 else { return log.done.open() }
                loop.schedule(deadline, at: loop.now + .milliseconds(1))
            }
            log.deadlines = [deadline]
            loop.schedule(deadline, at: loop.now)
        }
        try await log.done.wait()
        #expect(log.entries.count == 5)
        log.deadlines = []
    }

    /// Notes that its descriptor is ready, once.
    private final class Reader: DescriptorHandler {
        private let log: Log
        private let loop: EventLoop
        private var id: UInt32 = 0

        init(_ descriptor: Int32, on loop: EventLoop, _ log: Log) {
            (self.log, self.loop) = (log, loop)
            id = loop.register(self)
            loop.watch(descriptor, for: .read, owner: id)
        }

        func descriptorBecameReady(_ descriptor: Int32) {
            log.entries.append("socket")
            loop.unwatch(descriptor)
            loop.unregister(id)
        }
    }

    @Test("A deadline that is due again at once leaves a turn to submitted work and to sockets")
    func restlessDeadline() async throws {
        let pair = try SocketPair()
        loop.submit { [loop, log] in
            _ = Reader(pair.near, on: loop, log)
            let deadline = Deadline {
                log.entries.append("tick")
                if log.entries.count == 1 {
                    pair.write("a")
                    loop.submit { log.entries.append("work") }
                }
                guard let deadline = log.deadlines.first, !log.entries.contains("work"), log.entries.count < 1000 else {
                    return log.done.open()
                }
                loop.schedule(deadline, at: loop.now)
            }
            log.deadlines = [deadline]
            loop.schedule(deadline, at: loop.now)
        }
        try await log.done.wait()
        #expect(log.entries == ["tick", "socket", "work", "tick"])
        log.deadlines = []
    }

    @Test("Work that wakes others runs at the end of the round, in its order, and before the next round's work")
    func endOfRound() async throws {
        loop.submit { [loop, log] in
            // Both run in the next round.
            loop.submit {
                loop.atEndOfRound { log.entries.append("delivery 1") }
                loop.submit { log.entries.append("next round") }
                log.entries.append("work 1")
            }
            loop.submit {
                loop.atEndOfRound { log.entries.append("delivery 2") }
                log.entries.append("work 2")
                loop.submit { log.done.open() }
            }
        }
        try await log.done.wait()
        #expect(log.entries == ["work 1", "work 2", "delivery 1", "delivery 2", "next round"])
    }

    @Test("A task that waits for the loop again and again leaves the sockets their turn")
    func taskThatAwaitsTheLoop() async throws {
        let loop = loopOfItsOwn()
        let pair = try SocketPair()
        await withTaskExecutorPreference(loop) {
            loop.submit { [log] in _ = Reader(pair.near, on: loop, log) }
            await Task.yield()
            pair.write("a")
            while !log.entries.contains("socket") {
                await withCheckedContinuation { continuation in
                    loop.submit { continuation.resume() }
                }
            }
        }
        #expect(log.entries == ["socket"])
    }

    @Test("Bytes that arrived while a task took its time come before the deadline that has passed meanwhile")
    func longStep() async throws {
        let loop = loopOfItsOwn()
        let pair = try SocketPair()
        await withTaskExecutorPreference(loop) {
            loop.submit { [log] in _ = Reader(pair.near, on: loop, log) }
            await Task.yield()
            let deadline = Deadline { [log] in log.entries.append("deadline") }
            log.deadlines = [deadline]
            let end = loop.now + .milliseconds(20)
            loop.schedule(deadline, at: end)
            pair.write("a")
            while MonotonicTime.now < end + .milliseconds(1) {}
            while log.entries.count < 2 { await Task.yield() }
        }
        #expect(log.entries == ["socket", "deadline"])
        log.deadlines = []
    }

    @Test("A task that prefers the loop runs on it, step by step, between the loop's rounds")
    func task() async throws {
        let loop = loopOfItsOwn()
        let pair = try SocketPair()
        await withTaskExecutorPreference(loop) {
            loop.preconditionOnLoop()
            loop.submit { [log] in
                _ = Reader(pair.near, on: loop, log)
                log.entries.append("work")
            }
            log.entries.append("step")
            await Task.yield()
            loop.preconditionOnLoop()
            pair.write("a")
            // Sockets get their turn although this is always due.
            while !log.entries.contains("socket") { await Task.yield() }
        }
        #expect(log.entries == ["step", "work", "socket"])
    }

    @Test("A task on the loop may end the process: the loop stops at once")
    func taskThatExits() async throws {
        let loop = loopOfItsOwn()
        // Would take an hour if the task ran within the turn that is waited for.
        onOtherThread {
            Task(executorPreference: loop) { [log] in
                loop.stopForProcessExit(by: .now + .seconds(3600))
                log.done.open()
            }
        }
        try await log.done.wait()
    }

    @Test("Work within a round may end the process: the loop stops at once")
    func workThatExits() async throws {
        let loop = loopOfItsOwn()
        loop.submit { [log] in
            loop.stopForProcessExit(by: .now + .seconds(3600))
            log.done.open()
        }
        try await log.done.wait()
    }

    @Test("A group hands out its loops in turn, and makes no more of them than it may")
    func group() {
        let group = EventLoopGroup(count: 3)
        let loops = (0..<7).map { _ in group.next() }
        #expect(Set(loops.map { ObjectIdentifier($0) }).count == 3)
        #expect(loops[0] === loops[3] && loops[0] === loops[6] && loops[1] === loops[4])
        keep(loops)
    }

    @Test("Half as many loops as there are cores are shared, one at least and four at most")
    func usualCount() {
        #expect([1, 2, 3, 4, 8, 9, 64].map(EventLoopGroup.count(forCores:)) == [1, 1, 1, 2, 4, 4, 4])
    }

    @Test("A caller that asks a group for several loops gets different ones, and the group grows for it alone")
    func several() {
        let group = EventLoopGroup(count: 2)
        let single = group.next()
        let four = group.next(4)
        #expect(Set(four.map { ObjectIdentifier($0) }).count == 4)
        #expect(four.contains { $0 === single })
        // Who asks for one takes turns on the two, as before.
        let others = (0..<4).map { _ in group.next() }
        #expect(Set(others.map { ObjectIdentifier($0) }).count == 2)
        #expect(others.allSatisfy { other in four.contains { $0 === other } })
        // And who asks for two gets two different ones.
        let pairs = (0..<3).map { _ in group.next(2) }
        #expect(pairs.allSatisfy { $0.count == 2 && $0[0] !== $0[1] })
        keep(four)
    }

    private func loopOfItsOwn() -> EventLoop {
        let loop = EventLoopGroup(count: 1).next()
        keep([loop])
        return loop
    }

    /// Loops are never freed.
    private func keep(_ loops: [EventLoop]) {
        for loop in loops { _ = Unmanaged.passRetained(loop) }
    }
}
