import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's scripts")
struct LoopbackServerScriptTests {
    /// Performs a script on a socket that takes `atMost` bytes at a time.
    func run(_ steps: [LoopbackServer.Step], atMost: Int = .max) -> (output: Data, actions: Int) {
        var script = Script(steps)
        var output = Data()
        var actions = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { buffer.deallocate() }
        while !script.isFinished {
            if script.takeAction() != nil {
                actions += 1
            } else if !script.isFinished {
                let count = min(atMost, script.copy(to: buffer))
                output += buffer[..<count]
                script.sent(count)
            }
        }
        return (output, actions)
    }

    @Test("Bytes come out the same however few the socket takes")
    func partialSends() {
        let steps: [LoopbackServer.Step] = [
            .bytes("head"), .bytes(""), .body(.generated(length: 1000, seed: 5)), .pause(.zero), .bytes("tail"),
        ]
        let expected = Data("head".utf8) + GeneratedBody.bytes(seed: 5, length: 1000) + Data("tail".utf8)
        for atMost in [1, 2, 63, 64, 1000] {
            let (output, actions) = run(steps, atMost: atMost)
            #expect(output == expected)
            #expect(actions == 1)
        }
    }

    @Test("A body becomes chunks of the given size")
    func chunks() {
        let steps: [LoopbackServer.Step] = [.chunks(.text("0123456789"), size: 4), .bytes("0\r\n\r\n")]
        let expected = Data("4\r\n0123\r\n4\r\n4567\r\n2\r\n89\r\n0\r\n\r\n".utf8)
        for atMost in [1, 3, 100] { #expect(run(steps, atMost: atMost).output == expected) }
        #expect(run([.chunks(.text(""), size: 4)]).output.isEmpty)
    }

    @Test("Copying stops before a step that sends nothing")
    func copyStops() {
        let script = Script([.bytes("ab"), .bytes("cd"), .close, .bytes("ef")])
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { buffer.deallocate() }
        #expect(script.copy(to: buffer) == 4)
    }

    @Test("A throttle lets a second's worth through in a second, and never more")
    func throttle() {
        let start = ContinuousClock.now
        var throttle = Throttle(bytesPerSecond: 1000, start: start)
        #expect(throttle.allowance(at: start) == 0)
        var now = start
        var total = 0
        while now < start + .seconds(1) {
            now = throttle.next
            let count = throttle.allowance(at: now)
            #expect(count >= 1)
            throttle.count(count)
            total += count
            #expect(total <= 1001)
        }
        #expect(total >= 1000)
        #expect(Throttle(bytesPerSecond: 0, start: start).allowance(at: start + .seconds(2)) == 2)
    }

    @Test("Deadlines come in order, and only when they have passed")
    func deadlines() {
        let start = ContinuousClock.now
        var queue = DeadlineQueue()
        let order = (0..<200).map { UInt64($0) }.shuffled()
        for token in order { queue.insert(start + .milliseconds(Int(token)), token: token) }
        #expect(queue.earliest == start)
        #expect(queue.popExpired(at: start - .nanoseconds(1)) == nil)
        var popped: [UInt64] = []
        while let token = queue.popExpired(at: start + .milliseconds(99)) { popped.append(token) }
        #expect(popped == Array(0..<100))
        while let token = queue.popExpired(at: start + .seconds(1)) { popped.append(token) }
        #expect(popped == Array(0..<200))
        #expect(queue.earliest == nil)
    }

    @Test("A gate lets through who waited and who comes later")
    func gate() async throws {
        let gate = Gate()
        let count = Locked(0)
        gate.whenOpen { count.withLock { $0 += 1 } }
        async let waiter: Void = gate.wait()
        #expect(!gate.isOpen)
        gate.open()
        gate.open()
        try await waiter
        try await gate.wait()
        gate.whenOpen { count.withLock { $0 += 1 } }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("A cancelled task stops waiting for a gate")
    func cancelledWait() async {
        let gate = Gate()
        let task = Task { try await gate.wait() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
