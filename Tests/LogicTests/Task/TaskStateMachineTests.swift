import Testing

@testable import CurlNetworking

/// A machine, and a loop that does at once what it says.
private struct ObedientLoop {
    var machine = TaskStateMachine()
    var activity = TaskStateMachine.Activity.ready

    /// The machine's commands, which are carried out.
    mutating func commands() -> [TaskStateMachine.Command] {
        var commands: [TaskStateMachine.Command] = []
        while let command = machine.next(activity), commands.count < 10 {
            commands.append(command)
            switch (command, activity) {
            case (.advance, _): activity = .queued
            case (.leavePlace, _): activity = .ready
            case (.setPaused(let isPaused), .transferring(_, let isHeld)):
                activity = .transferring(isPaused: isPaused, isHeld: isHeld)
            case (.setPaused, _), (.cancel, _): activity = .busy
            }
        }
        return commands
    }

    /// The task's turn has come. False if it isn't wanted.
    mutating func begin() -> Bool {
        let begins = machine.mayBegin
        activity = begins ? .running : .ready
        return begins
    }
}

extension TaskStateMachine.Activity {
    fileprivate static let ready = Self.preparing(isReady: true, hasPlace: false)
    /// Waits for a place at a host.
    fileprivate static let queued = Self.preparing(isReady: false, hasPlace: true)
    fileprivate static let running = Self.transferring(isPaused: false, isHeld: false)
    fileprivate static let paused = Self.transferring(isPaused: true, isHeld: false)
}

@Suite("A task's state machine")
struct TaskStateMachineTests {
    typealias Activity = TaskStateMachine.Activity
    typealias Command = TaskStateMachine.Command
    typealias Stage = TaskStateMachine.Stage

    /// How far a task has come in the usual way.
    enum Point: CaseIterable {
        /// Not resumed yet.
        case new
        case queued
        case transferring
        /// Suspended during its transfer.
        case paused
        case finished
        case completed

        var stage: Stage {
            switch self {
            case .new, .queued, .transferring, .paused: .working
            case .finished: .finished
            case .completed: .completed
            }
        }

        var activity: Activity {
            switch self {
            case .new: .ready
            case .queued: .queued
            case .transferring: .running
            case .paused: .paused
            case .finished, .completed: .busy
            }
        }
    }

    private static func loop(at point: Point) -> ObedientLoop {
        var loop = ObedientLoop()
        if point == .new { return loop }
        _ = loop.machine.resume()
        _ = loop.commands()
        if point == .queued { return loop }
        _ = loop.begin()
        if point == .transferring { return loop }
        if point == .paused {
            _ = loop.machine.suspend()
            _ = loop.commands()
            return loop
        }
        _ = loop.machine.finish()
        loop.activity = .busy
        if point == .completed { _ = loop.machine.complete() }
        return loop
    }

    @Test("The usual way leads to every point", arguments: Point.allCases)
    func points(point: Point) {
        var loop = Self.loop(at: point)
        #expect(loop.machine.stage == point.stage)
        #expect(loop.activity == point.activity)
        #expect(loop.commands() == [], "nothing is left to do")
    }

    // MARK: - Every intent at every point

    struct Case: Sendable, CustomTestStringConvertible {
        var point: Point
        var needsLoop: Bool
        var commands: [Command]
        var after: Activity

        init(_ point: Point, needsLoop: Bool, _ commands: [Command], _ after: Activity) {
            self.point = point
            self.needsLoop = needsLoop
            self.commands = commands
            self.after = after
        }

        var testDescription: String { "\(point)" }
    }

    static let resuming = [
        Case(.new, needsLoop: true, [.advance], .queued),
        Case(.queued, needsLoop: false, [], .queued),
        Case(.transferring, needsLoop: false, [], .running),
        Case(.paused, needsLoop: true, [.setPaused(false)], .running),
        Case(.finished, needsLoop: false, [], .busy),
        Case(.completed, needsLoop: false, [], .busy),
    ]

    @Test("resume() does what it should at every point", arguments: resuming)
    func resume(expected: Case) {
        var loop = Self.loop(at: expected.point)
        #expect(loop.machine.resume() == expected.needsLoop)
        #expect(loop.commands() == expected.commands)
        #expect(loop.activity == expected.after)
        #expect(loop.machine.stage == expected.point.stage)
    }

    static let suspending = [
        Case(.new, needsLoop: false, [], .ready),
        Case(.queued, needsLoop: true, [.leavePlace], .ready),
        Case(.transferring, needsLoop: true, [.setPaused(true)], .paused),
        Case(.paused, needsLoop: false, [], .paused),
        Case(.finished, needsLoop: false, [], .busy),
        Case(.completed, needsLoop: false, [], .busy),
    ]

    @Test("suspend() does what it should at every point", arguments: suspending)
    func suspend(expected: Case) {
        var loop = Self.loop(at: expected.point)
        #expect(loop.machine.suspend() == expected.needsLoop)
        #expect(loop.commands() == expected.commands)
        #expect(loop.activity == expected.after)
        #expect(loop.machine.stage == expected.point.stage)
    }

    @Test(
        "cancel() ends every task that has no result, and withholds a result unless it asks for resume data",
        arguments: Point.allCases
    )
    func cancel(point: Point) {
        for kind in [TaskStateMachine.Cancellation.discardingBody, .keepingPartialFile] {
            var loop = Self.loop(at: point)
            let isTooLate = point.stage == .completed || point.stage == .finished && kind == .keepingPartialFile
            #expect(loop.machine.cancel(kind) != isTooLate)
            if point.stage == .working {
                #expect(loop.commands() == [.cancel(kind)])
                #expect(loop.machine.stage == .finished)
                #expect(loop.machine.publicState == .canceling)
            } else {
                #expect(loop.commands() == [])
                #expect(loop.machine.stage == point.stage)
            }
        }
    }

    static let fallingBehind = [
        Case(.new, needsLoop: true, [], .ready),
        Case(.queued, needsLoop: true, [], .queued),
        Case(.transferring, needsLoop: true, [.setPaused(true)], .paused),
        Case(.paused, needsLoop: true, [], .paused),
        Case(.finished, needsLoop: false, [], .busy),
        Case(.completed, needsLoop: false, [], .busy),
    ]

    @Test("A consumer that falls behind pauses a running transfer only", arguments: fallingBehind)
    func backlog(expected: Case) {
        var loop = Self.loop(at: expected.point)
        #expect(loop.machine.setBacklogged(true) == expected.needsLoop)
        #expect(loop.commands() == expected.commands)
        #expect(loop.activity == expected.after)
        #expect(loop.machine.stage == expected.point.stage)
        #expect(loop.machine.setBacklogged(true) == false, "it is no news")
    }

    // MARK: - What happens on the loop, at every point

    @Test("A transfer may begin unless the task is suspended, cancelled or over", arguments: Point.allCases)
    func mayBegin(point: Point) {
        var machine = Self.loop(at: point).machine
        #expect(machine.mayBegin == (point == .queued || point == .transferring))
        _ = machine.cancel(.discardingBody)
        #expect(!machine.mayBegin)
    }

    @Test("A task whose transfer is followed by another goes on, or gives up its place", arguments: Point.allCases)
    func next(point: Point) {
        for hasPlace in [false, true] {
            var loop = Self.loop(at: point)
            loop.activity = .preparing(isReady: true, hasPlace: hasPlace)
            switch point {
            case .queued, .transferring: #expect(loop.commands() == [.advance])
            case .new, .paused: #expect(loop.commands() == (hasPlace ? [.leavePlace] : []))
            case .finished, .completed: #expect(loop.commands() == [])
            }
        }
    }

    @Test("A task that waits for a step is left alone, and gives up its place when it is suspended")
    func waiting() {
        var machine = Self.loop(at: .transferring).machine
        for hasPlace in [false, true] {
            let activity = Activity.preparing(isReady: false, hasPlace: hasPlace)
            #expect(machine.next(activity) == nil)
            _ = machine.suspend()
            #expect(machine.next(activity) == (hasPlace ? .leavePlace : nil))
            _ = machine.resume()
        }
    }

    @Test("A task that is busy can only be cancelled")
    func busy() {
        var machine = Self.loop(at: .transferring).machine
        #expect(machine.suspend() == true)
        #expect(machine.next(.busy) == nil)
        #expect(machine.setBacklogged(true) == true)
        #expect(machine.next(.busy) == nil)
        #expect(machine.cancel(.discardingBody) == true)
        #expect(machine.next(.busy) == .cancel(.discardingBody))
    }

    @Test("Asking for resume data when the body is complete delivers the body, and cancelling doesn't")
    func finishing() {
        var machine = Self.loop(at: .transferring).machine
        #expect(machine.next(.finishing) == nil)
        var other = machine
        #expect(other.cancel(.discardingBody) == true)
        #expect(other.next(.finishing) == .cancel(.discardingBody))
        #expect(machine.cancel(.keepingPartialFile) == true)
        #expect(machine.next(.finishing) == nil)
        #expect(machine.finish(isSuccess: true) == true)
        #expect(machine.complete() == false)
    }

    @Test("A task finishes once", arguments: Point.allCases)
    func finish(point: Point) {
        var loop = Self.loop(at: point)
        #expect(loop.machine.finish() == (point.stage == .working))
        #expect(loop.machine.finish() == false)
        #expect(loop.machine.stage == (point == .completed ? .completed : .finished))
        #expect(loop.commands() == [])
    }

    @Test("A transfer that pauses by itself is continued unless it should be paused", arguments: Point.allCases)
    func pausedByItself(point: Point) {
        var loop = Self.loop(at: point)
        if point == .transferring { loop.activity = .paused }
        #expect(loop.commands() == (point == .transferring ? [.setPaused(false)] : []))
        #expect(loop.activity == point.activity)
    }

    @Test("A pause that failed is asked for again")
    func pauseFailed() {
        var machine = Self.loop(at: .transferring).machine
        for _ in 0..<2 { #expect(machine.next(.paused) == .setPaused(false), "it was to continue, and did not") }
        _ = machine.suspend()
        for _ in 0..<2 { #expect(machine.next(.running) == .setPaused(true)) }
    }

    // MARK: - Suspending

    @Test("As many resumes as suspends set a task going, and not one fewer")
    func nestedSuspends() {
        var loop = ObedientLoop()
        #expect(loop.machine.isSuspended)
        #expect(!loop.machine.wasResumed)
        for _ in 0..<3 { #expect(loop.machine.suspend() == false) }
        for _ in 0..<3 {
            #expect(loop.machine.resume() == false)
            #expect(loop.commands() == [])
            #expect(!loop.machine.wasResumed)
        }
        #expect(loop.machine.resume() == true)
        #expect(loop.machine.wasResumed)
        #expect(loop.commands() == [.advance])
    }

    @Test("More resumes than suspends are not saved up")
    func surplusResumes() {
        var loop = Self.loop(at: .transferring)
        for _ in 0..<5 { #expect(loop.machine.resume() == false) }
        #expect(loop.machine.suspend() == true)
        #expect(loop.machine.isSuspended)
        #expect(loop.commands() == [.setPaused(true)])
    }

    @Test("A task that was suspended and resumed before the loop looked needs nothing done")
    func quickChange() {
        var loop = Self.loop(at: .transferring)
        #expect(loop.machine.suspend() == true)
        #expect(loop.machine.resume() == true)
        #expect(loop.commands() == [])
    }

    @Test("A transfer goes on when it is neither suspended nor backlogged, and not before")
    func pauseHasTwoReasons() {
        var loop = Self.loop(at: .transferring)
        #expect(loop.machine.setBacklogged(true) == true)
        #expect(loop.commands() == [.setPaused(true)])
        #expect(loop.machine.suspend() == true)
        #expect(loop.commands() == [])
        #expect(loop.machine.setBacklogged(false) == true)
        #expect(loop.commands() == [])
        #expect(loop.machine.resume() == true)
        #expect(loop.commands() == [.setPaused(false)])
    }

    @Test("A transfer whose response waits for a decision is paused until it is made")
    func held() {
        var loop = Self.loop(at: .transferring)
        loop.activity = .transferring(isPaused: false, isHeld: true)
        #expect(loop.commands() == [.setPaused(true)])
        #expect(loop.machine.suspend() == true)
        loop.activity = .paused
        #expect(loop.commands() == [])
        #expect(loop.machine.resume() == true)
        #expect(loop.commands() == [.setPaused(false)])
    }

    @Test("A task suspended after a place was found for it does not start, and asks for another once resumed")
    func admissionAfterSuspension() {
        var loop = Self.loop(at: .queued)
        #expect(loop.machine.suspend() == true)
        #expect(loop.begin() == false)
        // The place has been taken back: even if the loop looks only now, the task must ask anew.
        #expect(loop.machine.resume() == true)
        #expect(loop.commands().last == .advance)
        #expect(loop.begin() == true)
    }

    @Test("A suspended task leaves the queue and comes back to it")
    func queueing() {
        var loop = Self.loop(at: .queued)
        #expect(loop.machine.suspend() == true)
        #expect(loop.commands() == [.leavePlace])
        #expect(loop.begin() == false)
        #expect(loop.machine.resume() == true)
        #expect(loop.commands() == [.advance])
        #expect(loop.begin() == true)
    }

    // MARK: - Cancelling

    @Test("Nothing changes a cancelled task's mind")
    func cancelWins() {
        var loop = Self.loop(at: .queued)
        #expect(loop.machine.cancel(.keepingPartialFile) == true)
        #expect(loop.machine.cancel(.keepingPartialFile) == false, "the first cancellation counts")
        #expect(loop.machine.resume() == false)
        #expect(loop.machine.suspend() == false)
        #expect(loop.begin() == false)
        #expect(loop.commands() == [.cancel(.keepingPartialFile)])
        #expect(loop.machine.finish() == false)
        #expect(loop.machine.complete() == true)
    }

    @Test("A task that is cancelled after resume data was asked for gives that data and no success")
    func cancelAfterPause() {
        var loop = Self.loop(at: .transferring)
        #expect(loop.machine.cancel(.keepingPartialFile) == true)
        #expect(loop.machine.cancel(.discardingBody) == true)
        #expect(loop.machine.cancel(.discardingBody) == false)
        var (complete, ended) = (loop.machine, loop.machine)
        #expect(loop.commands() == [.cancel(.keepingPartialFileAlone)])
        #expect(loop.machine.complete() == true)
        // Nothing is left to resume.
        #expect(complete.next(.finishing) == .cancel(.discardingBody))
        #expect(ended.finish(isSuccess: true) == true)
        #expect(ended.complete() == true)
        var late = Self.loop(at: .transferring).machine
        #expect(late.cancel(.discardingBody) == true)
        #expect(late.cancel(.keepingPartialFile) == false)
        #expect(late.next(.busy) == .cancel(.discardingBody))
    }

    @Test("A cancelled transfer that wants to go elsewhere ends instead")
    func cancelDuringRedirect() {
        var loop = Self.loop(at: .transferring)
        #expect(loop.machine.cancel(.discardingBody) == true)
        loop.activity = .ready
        #expect(loop.commands() == [.cancel(.discardingBody)])
    }

    @Test("Cancelling between the end and its delivery takes the success back, and not after it")
    func lateCancel() {
        var loop = Self.loop(at: .finished)
        #expect(loop.machine.cancel(.discardingBody) == true)
        #expect(loop.commands() == [])
        #expect(loop.machine.publicState == .canceling)
        #expect(loop.machine.complete() == true)
        #expect(loop.machine.publicState == .completed)

        var other = Self.loop(at: .finished)
        #expect(other.machine.complete() == false)
        #expect(other.machine.cancel(.discardingBody) == false)
        #expect(other.machine.cancellation == nil)
    }

    // MARK: - What the public sees

    @Test("The public state follows the intents at once, whatever the loop has done so far")
    func publicState() {
        var loop = ObedientLoop()
        #expect(loop.machine.publicState == .suspended)
        _ = loop.machine.resume()
        #expect(loop.machine.publicState == .running)
        _ = loop.commands()
        #expect(loop.machine.publicState == .running)
        _ = loop.begin()
        _ = loop.machine.suspend()
        #expect(loop.machine.publicState == .suspended)
        _ = loop.machine.resume()
        #expect(loop.machine.publicState == .running)
        _ = loop.machine.setBacklogged(true)
        #expect(loop.machine.publicState == .running, "a pause of ours is none of the owner's")
        _ = loop.machine.finish()
        #expect(loop.machine.publicState == .running)
        _ = loop.machine.suspend()
        #expect(loop.machine.publicState == .suspended)
        _ = loop.machine.resume()
        _ = loop.machine.cancel(.discardingBody)
        #expect(loop.machine.publicState == .canceling)
        _ = loop.machine.complete()
        #expect(loop.machine.publicState == .completed)
    }
}
