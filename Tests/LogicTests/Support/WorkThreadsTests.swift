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

    @Test("Without a limit, everything runs at once, more than Dispatch has threads for")
    func unlimited() async throws {
        let gate = Gate()
        defer { gate.open() }
        run(300, on: WorkThreads(limit: .max), until: gate)
        try await counts.wait { $0.running == 300 }
    }

    @Test("With one, no more than that runs at once, and everything in the end")
    func limited() async throws {
        let gate = Gate()
        let threads = WorkThreads(limit: 3)
        run(20, on: threads, until: gate)
        try await counts.wait { $0.running == 3 }
        gate.open()
        try await counts.wait { $0.done == 20 }
        #expect(counts.value.most == 3)
        // The same threads, which are idle now.
        run(20, on: threads, until: gate)
        try await counts.wait { $0.done == 40 }
        #expect(counts.value.most == 3)
    }
}
