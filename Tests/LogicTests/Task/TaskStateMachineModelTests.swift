import Testing

@testable import CurlNetworking

/// A loop that does what the machine says, as `Loader` does, and notes whatever must not happen.
private struct SimulatedLoop {
    enum Transfer: Equatable {
        case none
        case running(isPaused: Bool)
    }

    var machine = TaskStateMachine()
    var generator: SeededGenerator
    /// The task holds a place, or waits for one.
    var isQueued = false
    var transfer = Transfer.none
    var isBacklogged = false
    var outcomes = 0
    var completions = 0
    /// The loop has been told to look, and has not yet.
    var mustLook = false
    var mistakes: [String] = []

    // What the users asked for, told apart from the machine.
    var suspensions = 1
    var isCancelled = false

    mutating func expect(_ isTrue: Bool, _ mistake: String) {
        if !isTrue { mistakes.append(mistake) }
    }

    // MARK: Users

    mutating func wish() {
        let isOver = outcomes > 0
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<10:
            mustLook = machine.resume() || mustLook
            if !isCancelled, suspensions > 0 { suspensions -= 1 }
        case 10..<19:
            mustLook = machine.suspend() || mustLook
            if !isCancelled { suspensions += 1 }
        default:
            mustLook = machine.cancel(generator.chance(50) ? .discardingBody : .keepingPartialFile) || mustLook
            if completions == 0 { isCancelled = true }
        }
        if !isOver { expect(machine.isSuspended == (suspensions > 0), "the suspensions are miscounted") }
    }

    // MARK: Loop

    mutating func look() {
        guard mustLook else { return }
        mustLook = false
        while let command = machine.next() {
            switch command {
            case .enterQueue:
                expect(!isQueued && transfer == .none && outcomes == 0, "queued twice")
                isQueued = true
            case .leaveQueue:
                expect(transfer == .none && outcomes == 0, "left the queue while loading")
                isQueued = false
            case .setPaused(let isPaused):
                expect(transfer != .none, "paused no transfer")
                if generator.chance(20) {
                    // libcurl calls again, and then it is tried again.
                    mustLook = true
                    return machine.pauseFailed()
                }
                transfer = .running(isPaused: isPaused)
            case .cancel:
                expect(isCancelled, "cancelled by nobody")
                end()
            }
        }
    }

    mutating func end() {
        outcomes += 1
        isQueued = false
        transfer = .none
    }

    mutating func event() {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0..<5 where isQueued:
            isQueued = false
            // A place that isn't taken goes to the next in the queue.
            guard machine.admit() else { return expect(isCancelled || suspensions > 0, "a place was refused") }
            expect(!isCancelled && suspensions == 0, "started against its owner's will")
            expect(transfer == .none && outcomes == 0, "started twice")
            transfer = .running(isPaused: false)
        case 5, 6:
            let backlog = transfer != .none && !isBacklogged
            guard backlog != isBacklogged else { return }
            isBacklogged = backlog
            mustLook = machine.setBacklogged(backlog) || mustLook
        case 7 where transfer == .running(isPaused: false):
            machine.paused()
            transfer = .running(isPaused: true)
            mustLook = true
        case 8 where transfer != .none && !isBacklogged:
            // A redirect or another try: no body has been delivered that a consumer could fall behind with.
            transfer = .none
            machine.requeue()
            mustLook = true
        case 9 where transfer != .none && generator.chance(10):
            if machine.finish() { end() }
        case 10 where outcomes > 0 && completions == 0:
            expect(machine.complete() == isCancelled, "told a cancelled task's owner of success")
            completions += 1
        default:
            break
        }
    }

    /// Nobody wishes anything, and the loop has looked.
    mutating func settle() {
        var rounds = 0
        while mustLook, rounds < 1000 {
            look()
            rounds += 1
        }
        expect(!mustLook, "the loop never comes to rest")
        guard outcomes == 0 else {
            return expect(machine.stage == .finished || machine.stage == .completed, "unfinished after the end")
        }
        expect(!isCancelled, "a cancelled task lives on")
        switch (transfer, suspensions > 0) {
        case (.none, true): expect(!isQueued && machine.stage == .parked, "a suspended task waits for a place")
        case (.none, false): expect(isQueued, "a resumed task waits for nothing")
        case (.running(let isPaused), let isSuspended):
            expect(isPaused == (isSuspended || isBacklogged), "paused \(isPaused) against the wish")
        }
    }

    /// Lets the task come to its end.
    mutating func conclude() {
        while suspensions > 0, outcomes == 0, !isCancelled {
            mustLook = machine.resume() || mustLook
            suspensions -= 1
        }
        if isBacklogged {
            isBacklogged = false
            mustLook = machine.setBacklogged(false) || mustLook
        }
        settle()
        if isQueued, machine.admit() {
            isQueued = false
            transfer = .running(isPaused: false)
        }
        if transfer != .none, machine.finish() { end() }
        if outcomes > 0, completions == 0 {
            _ = machine.complete()
            completions += 1
        }
    }
}

@Suite("A task's state machine in a simulated loop")
struct TaskStateMachineModelTests {
    @Test(
        "However wishes and events mix, a task obeys the newest wish and ends exactly once",
        arguments: 1...40 as ClosedRange<UInt64>
    )
    func randomised(seed: UInt64) {
        for life in 0..<100 {
            var loop = SimulatedLoop(generator: SeededGenerator(seed: seed << 32 | UInt64(life)))
            for _ in 0..<Int.random(in: 1..<60, using: &loop.generator) {
                switch Int.random(in: 0..<3, using: &loop.generator) {
                case 0: loop.wish()
                case 1: loop.look()
                default: loop.event()
                }
                if loop.generator.chance(10) { loop.settle() }
            }
            loop.settle()
            loop.conclude()
            #expect(loop.outcomes == 1)
            #expect(loop.completions == 1)
            #expect(loop.mistakes == [], "life \(life)")
            if !loop.mistakes.isEmpty { return }
        }
    }
}
