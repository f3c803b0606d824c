import Testing

@testable import CurlNetworking

@Suite("A task's state machine")
struct TaskStateMachineTests {
    typealias Stage = TaskStateMachine.Stage
    typealias Command = TaskStateMachine.Command

    /// A machine that has come to `stage` in the usual way, not suspended but where it is parked.
    static func machine(in stage: Stage) -> TaskStateMachine {
        var machine = TaskStateMachine()
        if stage == .parked { return machine }
        _ = machine.resume()
        _ = machine.next()
        if stage == .queued { return machine }
        _ = machine.admit()
        if stage == .loading(isPaused: false) { return machine }
        if stage == .loading(isPaused: true) {
            _ = machine.suspend()
            _ = machine.next()
            return machine
        }
        _ = machine.finish()
        if stage == .completed { _ = machine.complete() }
        return machine
    }

    static let allStages: [Stage] = [
        .parked, .queued, .loading(isPaused: false), .loading(isPaused: true), .finished, .completed,
    ]

    static func commands(_ machine: inout TaskStateMachine) -> [Command] {
        var commands: [Command] = []
        while let command = machine.next(), commands.count < 10 { commands.append(command) }
        return commands
    }

    @Test("The usual way leads to every stage", arguments: allStages)
    func stages(stage: Stage) {
        var machine = Self.machine(in: stage)
        #expect(machine.stage == stage)
        #expect(Self.commands(&machine) == [], "nothing is left to do")
    }

    // MARK: - Every wish in every stage

    struct Case: Sendable, CustomTestStringConvertible {
        var stage: Stage
        var needsLoop: Bool
        var commands: [Command]
        var after: Stage

        init(_ stage: Stage, _ needsLoop: Bool, _ commands: [Command], _ after: Stage) {
            self.stage = stage
            self.needsLoop = needsLoop
            self.commands = commands
            self.after = after
        }

        var testDescription: String { "\(stage)" }
    }

    static let resuming = [
        Case(.parked, true, [.enterQueue], .queued),
        Case(.queued, false, [], .queued),
        Case(.loading(isPaused: false), false, [], .loading(isPaused: false)),
        Case(.loading(isPaused: true), true, [.setPaused(false)], .loading(isPaused: false)),
        Case(.finished, false, [], .finished),
        Case(.completed, false, [], .completed),
    ]

    @Test("resume() in every stage", arguments: resuming)
    func resume(expected: Case) {
        var machine = Self.machine(in: expected.stage)
        #expect(machine.resume() == expected.needsLoop)
        #expect(Self.commands(&machine) == expected.commands)
        #expect(machine.stage == expected.after)
    }

    static let suspending = [
        Case(.parked, false, [], .parked),
        Case(.queued, true, [.leaveQueue], .parked),
        Case(.loading(isPaused: false), true, [.setPaused(true)], .loading(isPaused: true)),
        Case(.loading(isPaused: true), false, [], .loading(isPaused: true)),
        Case(.finished, false, [], .finished),
        Case(.completed, false, [], .completed),
    ]

    @Test("suspend() in every stage", arguments: suspending)
    func suspend(expected: Case) {
        var machine = Self.machine(in: expected.stage)
        #expect(machine.suspend() == expected.needsLoop)
        #expect(Self.commands(&machine) == expected.commands)
        #expect(machine.stage == expected.after)
    }

    @Test("cancel() ends every task that has not completed", arguments: allStages)
    func cancel(stage: Stage) {
        for kind in [TaskStateMachine.Cancellation.discardingBody, .keepingPartialFile] {
            var machine = Self.machine(in: stage)
            #expect(machine.cancel(kind) == (stage != .completed))
            switch stage {
            case .parked, .queued, .loading:
                #expect(Self.commands(&machine) == [.cancel(kind)])
                #expect(machine.stage == .finished)
                #expect(machine.publicState == .canceling)
            case .finished, .completed:
                #expect(Self.commands(&machine) == [])
                #expect(machine.stage == stage)
            }
        }
    }

    static let fallingBehind = [
        Case(.parked, false, [], .parked),
        Case(.queued, false, [], .queued),
        Case(.loading(isPaused: false), true, [.setPaused(true)], .loading(isPaused: true)),
        Case(.loading(isPaused: true), true, [], .loading(isPaused: true)),
        Case(.finished, false, [], .finished),
        Case(.completed, false, [], .completed),
    ]

    @Test("A consumer that falls behind pauses a running transfer only", arguments: fallingBehind)
    func backlog(expected: Case) {
        var machine = Self.machine(in: expected.stage)
        #expect(machine.setBacklogged(true) == expected.needsLoop)
        #expect(Self.commands(&machine) == expected.commands)
        #expect(machine.stage == expected.after)
        #expect(machine.setBacklogged(true) == false, "it is no news")
    }

    // MARK: - What happens on the loop, in every stage

    @Test("Only a queued task can be admitted", arguments: allStages)
    func admit(stage: Stage) {
        var machine = Self.machine(in: stage)
        #expect(machine.admit() == (stage == .queued))
        #expect(machine.stage == (stage == .queued ? .loading(isPaused: false) : stage))
    }

    @Test("Only a loading task goes back to the queue", arguments: allStages)
    func requeue(stage: Stage) {
        var machine = Self.machine(in: stage)
        machine.requeue()
        switch stage {
        case .loading(let isPaused):
            #expect(machine.stage == .parked)
            #expect(Self.commands(&machine) == (isPaused ? [] : [.enterQueue]))
        case .parked, .queued, .finished, .completed:
            #expect(machine.stage == stage)
        }
    }

    @Test("A task finishes once", arguments: allStages)
    func finish(stage: Stage) {
        var machine = Self.machine(in: stage)
        let isFirst = stage != .finished && stage != .completed
        #expect(machine.finish() == isFirst)
        #expect(machine.finish() == false)
        #expect(machine.stage == (stage == .completed ? .completed : .finished))
        #expect(Self.commands(&machine) == [])
    }

    @Test("A transfer that pauses by itself is continued when nobody wants it paused", arguments: allStages)
    func pausedByItself(stage: Stage) {
        var machine = Self.machine(in: stage)
        machine.paused()
        #expect(Self.commands(&machine) == (stage == .loading(isPaused: false) ? [.setPaused(false)] : []))
        #expect(machine.stage == stage)
    }

    @Test("A pause that failed is asked for again", arguments: allStages)
    func pauseFailed(stage: Stage) {
        var machine = Self.machine(in: stage)
        if stage == .loading(isPaused: true) {
            machine.pauseFailed()
            #expect(machine.stage == .loading(isPaused: false))
            #expect(Self.commands(&machine) == [.setPaused(true)])
        } else if stage == .loading(isPaused: false) {
            machine.pauseFailed()
            #expect(Self.commands(&machine) == [.setPaused(false)], "it was to continue, and did not")
        } else {
            machine.pauseFailed()
            #expect(machine.stage == stage)
        }
    }

    // MARK: - Suspending

    @Test("As many resumes as suspends set a task going, and not one fewer")
    func nestedSuspends() {
        var machine = TaskStateMachine()
        #expect(machine.isSuspended)
        #expect(!machine.wasResumed)
        for _ in 0..<3 { #expect(machine.suspend() == false) }
        for _ in 0..<3 {
            #expect(machine.resume() == false)
            #expect(Self.commands(&machine) == [])
            #expect(!machine.wasResumed)
        }
        #expect(machine.resume() == true)
        #expect(machine.wasResumed)
        #expect(Self.commands(&machine) == [.enterQueue])
    }

    @Test("More resumes than suspends are not saved up")
    func surplusResumes() {
        var machine = Self.machine(in: .loading(isPaused: false))
        for _ in 0..<5 { #expect(machine.resume() == false) }
        #expect(machine.suspend() == true)
        #expect(machine.isSuspended)
        #expect(Self.commands(&machine) == [.setPaused(true)])
    }

    @Test("What was suspended and resumed before the loop looked needs nothing done")
    func quickChange() {
        var machine = Self.machine(in: .loading(isPaused: false))
        #expect(machine.suspend() == true)
        #expect(machine.resume() == true)
        #expect(Self.commands(&machine) == [])
    }

    @Test("A transfer goes on when it is neither suspended nor backlogged, and not before")
    func pauseHasTwoReasons() {
        var machine = Self.machine(in: .loading(isPaused: false))
        #expect(machine.setBacklogged(true) == true)
        #expect(Self.commands(&machine) == [.setPaused(true)])
        #expect(machine.suspend() == true)
        #expect(Self.commands(&machine) == [])
        #expect(machine.setBacklogged(false) == true)
        #expect(Self.commands(&machine) == [])
        #expect(machine.resume() == true)
        #expect(Self.commands(&machine) == [.setPaused(false)])
    }

    @Test("A transfer whose response waits for a decision is paused, and doesn't time out, until it is made")
    func held() {
        var machine = Self.machine(in: .loading(isPaused: false))
        machine.setHeld(true)
        #expect(!machine.mayTimeOut)
        #expect(Self.commands(&machine) == [.setPaused(true)])
        #expect(machine.suspend() == true)
        machine.setHeld(false)
        #expect(Self.commands(&machine) == [])
        #expect(machine.resume() == true)
        #expect(Self.commands(&machine) == [.setPaused(false)])
        #expect(machine.mayTimeOut)
    }

    @Test("A task suspended after a place was found for it does not start, and asks for another once resumed")
    func admissionAfterSuspension() {
        var machine = Self.machine(in: .queued)
        #expect(machine.suspend() == true)
        #expect(machine.admit() == false)
        // Whoever gave the place has taken it back: even if the loop looks only now, the task must ask anew.
        #expect(machine.resume() == true)
        #expect(Self.commands(&machine).last == .enterQueue)
        #expect(machine.admit() == true)
    }

    @Test("A suspended task leaves the queue and comes back to it")
    func queueing() {
        var machine = Self.machine(in: .queued)
        #expect(machine.suspend() == true)
        #expect(Self.commands(&machine) == [.leaveQueue])
        #expect(machine.admit() == false)
        #expect(machine.resume() == true)
        #expect(Self.commands(&machine) == [.enterQueue])
        #expect(machine.admit() == true)
    }

    // MARK: - Cancelling

    @Test("Nothing changes a cancelled task's mind")
    func cancelWins() {
        var machine = Self.machine(in: .queued)
        #expect(machine.cancel(.keepingPartialFile) == true)
        #expect(machine.cancel(.discardingBody) == false, "the first cancellation counts")
        #expect(machine.resume() == false)
        #expect(machine.suspend() == false)
        #expect(machine.admit() == false)
        #expect(Self.commands(&machine) == [.cancel(.keepingPartialFile)])
        #expect(machine.finish() == false)
        #expect(machine.complete() == true)
    }

    @Test("A cancelled transfer that wants to go elsewhere ends instead")
    func cancelDuringRedirect() {
        var machine = Self.machine(in: .loading(isPaused: false))
        #expect(machine.cancel(.discardingBody) == true)
        machine.requeue()
        #expect(Self.commands(&machine) == [.cancel(.discardingBody)])
    }

    @Test("Cancelling between the end and its delivery takes the success back, and not after it")
    func lateCancel() {
        var machine = Self.machine(in: .finished)
        #expect(machine.cancel(.discardingBody) == true)
        #expect(Self.commands(&machine) == [])
        #expect(machine.publicState == .canceling)
        #expect(machine.complete() == true)
        #expect(machine.publicState == .completed)

        var other = Self.machine(in: .finished)
        #expect(other.complete() == false)
        #expect(other.cancel(.discardingBody) == false)
        #expect(other.cancellation == nil)
    }

    // MARK: - What the public sees

    @Test("The public state follows the wishes at once, whatever the loop has done so far")
    func publicState() {
        var machine = TaskStateMachine()
        #expect(machine.publicState == .suspended)
        _ = machine.resume()
        #expect(machine.publicState == .running)
        _ = Self.commands(&machine)
        #expect(machine.publicState == .running)
        _ = machine.admit()
        _ = machine.suspend()
        #expect(machine.publicState == .suspended)
        _ = machine.resume()
        #expect(machine.publicState == .running)
        _ = machine.setBacklogged(true)
        #expect(machine.publicState == .running, "a pause of ours is none of the owner's")
        _ = machine.finish()
        #expect(machine.publicState == .running)
        _ = machine.suspend()
        #expect(machine.publicState == .suspended)
        _ = machine.resume()
        _ = machine.cancel(.discardingBody)
        #expect(machine.publicState == .canceling)
        _ = machine.complete()
        #expect(machine.publicState == .completed)
    }
}
