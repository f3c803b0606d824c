import Testing

@testable import CurlNetworking

/// A loop that does what the machine says, as `Loader` does, and notes whatever must not happen.
private struct SimulatedLoop {
    enum Work: Equatable {
        case ready
        /// For a step, with or without a place at the host.
        case waiting
        /// For a place at the host.
        case queued
        /// It has its place, and a step is still looking something up.
        case encoding
        case transferring(isPaused: Bool, isHeld: Bool)
        /// The body is complete, and its sink isn't done with it.
        case finishing
        case over
    }

    var machine = TaskStateMachine()
    var generator: SeededGenerator
    var work = Work.ready
    /// The task holds a place, or waits for one.
    var hasPlace = false
    var isBacklogged = false
    var outcomes = 0
    var completions = 0
    /// The loop has been told to look, and has not yet.
    var mustLook = false
    var mistakes: [String] = []

    // What the users asked for, told apart from the machine.
    var suspensions = 1
    var isCancelled = false
    /// The cancellation asks for resume data.
    var keepsPartialFile = false

    var activity: TaskStateMachine.Activity {
        switch work {
        case .ready: .preparing(isReady: true, hasPlace: hasPlace)
        case .waiting, .queued: .preparing(isReady: false, hasPlace: hasPlace)
        case .finishing: .finishing
        case .encoding, .over: .busy
        case .transferring(let isPaused, let isHeld): .transferring(isPaused: isPaused, isHeld: isHeld)
        }
    }

    var isTransferring: Bool { if case .transferring = work { true } else { false } }

    mutating func expect(_ isTrue: Bool, _ mistake: String) {
        if !isTrue { mistakes.append(mistake) }
    }

    // MARK: Users

    mutating func intent() {
        let isOver = outcomes > 0
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<10:
            mustLook = machine.resume() || mustLook
            if !isCancelled, suspensions > 0 { suspensions -= 1 }
        case 10..<19:
            mustLook = machine.suspend() || mustLook
            if !isCancelled { suspensions += 1 }
        default:
            cancel(generator.chance(50) ? .discardingBody : .keepingPartialFile)
        }
        if !isOver { expect(machine.isSuspended == (suspensions > 0), "the suspensions are miscounted") }
    }

    /// The first one counts, but before the end one that wants nothing takes the success back from one that wants resume data; and after
    /// the end only one that wants nothing.
    mutating func cancel(_ kind: TaskStateMachine.Cancellation) {
        mustLook = machine.cancel(kind) || mustLook
        if isCancelled, keepsPartialFile, outcomes == 0, kind == .discardingBody { keepsPartialFile = false }
        guard completions == 0, !isCancelled, outcomes == 0 || kind == .discardingBody else { return }
        isCancelled = true
        keepsPartialFile = kind == .keepingPartialFile
    }

    // MARK: Loop

    mutating func look() {
        guard mustLook else { return }
        mustLook = false
        while let command = machine.next(activity) {
            switch (command, work) {
            case (.advance, .ready):
                expect(suspensions == 0 && outcomes == 0, "went on against its owner's will")
                work = generator.chance(30) ? .waiting : .queued
                hasPlace = hasPlace || work == .queued
            case (.leavePlace, .waiting), (.leavePlace, .ready), (.leavePlace, .queued):
                expect(hasPlace && suspensions > 0 && outcomes == 0, "left a place that it had not, or needed")
                hasPlace = false
                if work == .queued { work = .ready }
            case (.setPaused(let isPaused), .transferring(let wasPaused, let isHeld)):
                expect(isPaused != wasPaused, "paused twice")
                if generator.chance(20) {
                    // libcurl calls again, and then it is tried again.
                    mustLook = true
                    return
                }
                work = .transferring(isPaused: isPaused, isHeld: isHeld)
            case (.cancel, _):
                expect(isCancelled, "cancelled by nobody")
                expect(work != .finishing || !keepsPartialFile, "a complete body is lost")
                end()
            default:
                return expect(false, "\(command) while \(work)")
            }
        }
    }

    mutating func end() {
        outcomes += 1
        work = .over
        hasPlace = false
    }

    /// What the task waits for happens.
    mutating func goOn() {
        switch work {
        case .waiting:
            work = .ready
        case .queued:
            // A place that isn't taken goes to the next in the queue.
            guard machine.mayBegin else {
                (work, hasPlace) = (.ready, false)
                return expect(isCancelled || suspensions > 0, "a place was refused")
            }
            expect(!isCancelled && suspensions == 0 && outcomes == 0, "started against its owner's will")
            work = generator.chance(20) ? .encoding : .transferring(isPaused: false, isHeld: false)
        case .encoding:
            work = .transferring(isPaused: false, isHeld: false)
        case .transferring(let isPaused, isHeld: true):
            work = .transferring(isPaused: isPaused, isHeld: false)
        case .finishing:
            // There is nothing left to resume.
            if keepsPartialFile { (isCancelled, keepsPartialFile) = (false, false) }
            if machine.finish(isSuccess: true) { end() }
        case .ready, .transferring, .over:
            return
        }
        mustLook = true
    }

    mutating func event() {
        switch (Int.random(in: 0..<12, using: &generator), work) {
        case (0..<5, _):
            goOn()
        case (5...6, _):
            let backlog = isTransferring && !isBacklogged
            guard backlog != isBacklogged else { return }
            isBacklogged = backlog
            mustLook = machine.setBacklogged(backlog) || mustLook
        case (7, .transferring(isPaused: false, let isHeld)):
            // By itself.
            work = .transferring(isPaused: true, isHeld: isHeld)
            mustLook = true
        case (8, .transferring) where !isBacklogged:
            // A redirect or another try: no body has been delivered that a consumer could fall behind with.
            work = generator.chance(30) ? .waiting : .ready
            hasPlace = generator.chance(50)
            mustLook = true
        case (9, .transferring) where generator.chance(10):
            if generator.chance(50) { work = .finishing } else if machine.finish() { end() }
        case (10, .over) where completions == 0:
            expect(machine.complete() == isCancelled, "told a cancelled task's owner of success")
            completions += 1
        case (11, .transferring(let isPaused, isHeld: false)):
            work = .transferring(isPaused: isPaused, isHeld: true)
            mustLook = true
        default:
            break
        }
    }

    /// No intent comes any more, and the loop has looked.
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
        expect(machine.stage == .working, "finished before the end")
        expect(!isCancelled || (work == .finishing && keepsPartialFile), "a cancelled task lives on")
        switch (work, suspensions > 0) {
        case (.ready, true), (.waiting, true): expect(!hasPlace, "a suspended task keeps a place")
        case (.queued, true): expect(false, "a suspended task waits for a place")
        case (.ready, false): expect(false, "a resumed task waits for nothing")
        case (.transferring(let isPaused, let isHeld), let isSuspended):
            expect(isPaused == (isSuspended || isBacklogged || isHeld), "paused \(isPaused) against the intent")
        case (.waiting, false), (.queued, false), (.encoding, _), (.finishing, _), (.over, _): break
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
        for _ in 0..<50 where !isTransferring {
            goOn()
            settle()
        }
        if isTransferring, machine.finish() { end() }
        if outcomes > 0, completions == 0 {
            _ = machine.complete()
            completions += 1
        }
    }
}

@Suite("A task's state machine in a simulated loop")
struct TaskStateMachineModelTests {
    @Test(
        "However intents and events mix, a task obeys the newest intent and ends exactly once",
        arguments: 1...40 as ClosedRange<UInt64>
    )
    func randomised(seed: UInt64) {
        for life in 0..<100 {
            var loop = SimulatedLoop(generator: SeededGenerator(seed: seed << 32 | UInt64(life)))
            for _ in 0..<Int.random(in: 1..<60, using: &loop.generator) {
                switch Int.random(in: 0..<3, using: &loop.generator) {
                case 0: loop.intent()
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
