import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Threads for work that may block", .timeLimit(.minutes(1)))
struct WorkThreadsTests {
    private struct Counts {
        var running = 0
        var most = 0
        var done = 0
    }

    private let counts = Watched(Counts())

    private func run(_ number: Int, on threads: WorkThreads, until gate: Gate) {
        for _ in 0..<number {
            threads.run { [counts] in
                counts.update { counts in
                    counts.running += 1
                    counts.most = max(counts.most, counts.running)
                }
                gate.waitBlocking()
                counts.update { counts in
                    counts.running -= 1
                    counts.done += 1
                }
            }
        }
    }

    @Test("Without a limit, all work runs at once, more than Dispatch has threads for")
    func unlimited() async throws {
        let gate = Gate()
        defer { gate.open() }
        run(300, on: WorkThreads(limit: .max), until: gate)
        try await counts.wait { $0.running == 300 }
    }

    @Test("With a limit, no more than that runs at once, and everything in the end", arguments: [0, 1])
    func limited(longestShortWork: Int) async throws {
        let gate = Gate()
        let threads = WorkThreads(limit: 3, longestShortWork: .milliseconds(longestShortWork))
        run(20, on: threads, until: gate)
        try await counts.wait { $0.running == 3 }
        gate.open()
        try await counts.wait { $0.done == 20 }
        #expect(counts.value.most == 3)
        // The same threads, which are idle now.
        run(20, on: threads, until: gate)
        try await counts.wait { $0.done == 40 }
        #expect(counts.value.most <= 3)
    }

    @Test("A single thread does quick work")
    func patient() async throws {
        let gate = Gate()
        gate.open()
        let threads = WorkThreads(limit: 3, longestShortWork: .seconds(30))
        for _ in 0..<100 { run(10, on: threads, until: gate) }
        try await counts.wait { $0.done == 1000 }
        #expect(counts.value.most == 1)
    }

    @Test("Work that takes long holds up no other, however much of it comes")
    func stuck() async throws {
        let (gate, open) = (Gate(), Gate())
        defer { gate.open() }
        open.open()
        let threads = WorkThreads(limit: 3, longestShortWork: .milliseconds(1))
        for number in 1...2 {
            run(1, on: threads, until: gate)
            try await counts.wait { $0.running == number }
            run(100, on: threads, until: open)
            try await counts.wait { $0.done == 100 * number }
        }
    }

    @Test("Where no thread can be started, work runs on Dispatch's, which aren't kept")
    func noThreads() async throws {
        let starts = Watched(0)
        var threads = WorkThreads(limit: .max) { _ in
            starts.update { $0 += 1 }
            return false
        }
        let done = Watched(0)
        for number in 1...50 {
            threads.run { done.update { $0 += 1 } }
            try await done.wait { $0 == number }
            // A thread holds a reference until it has gone back; until then it would take the next work, too.
            while !isKnownUniquelyReferenced(&threads) { await Task.yield() }
        }
        #expect(starts.value == 50, "a kept thread would have done some of the work")
    }
}
