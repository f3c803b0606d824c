import Testing

@testable import CurlTransport

@Suite("When a busy loop turns to its sockets")
struct RoundPacingTests {
    private static let start = MonotonicTime(nanoseconds: 5_000_000_000)

    @Test("Sockets are polled after some rounds, however short they are")
    func manyRounds() {
        var pacing = RoundPacing()
        for _ in 0..<3 {
            let due = (0..<RoundPacing.roundsPerPoll).map { _ in pacing.isPollDue(at: Self.start) }
            #expect(due.dropLast().allSatisfy { !$0 } && due.last == true)
        }
    }

    @Test("Sockets are polled after some time without a poll, however few rounds there were")
    func longRounds() {
        var pacing = RoundPacing()
        let times: [Duration] = [.zero, .microseconds(999), .milliseconds(1), .seconds(1)]
        let due = times.map { pacing.isPollDue(at: Self.start + $0) }
        #expect(due == [false, false, true, true])
    }

    @Test("Rounds before one that polled don't count, nor does the time in which the loop slept")
    func polling() {
        var pacing = RoundPacing()
        let first = pacing.isPollDue(at: Self.start)
        pacing.polls(at: Self.start + .seconds(1))
        let second = pacing.isPollDue(at: Self.start + .seconds(1))
        pacing.turnEnds()
        let third = pacing.isPollDue(at: Self.start + .seconds(3))
        #expect(!first && !second && !third)
    }

    @Test("When serving the sockets has taken long, they are polled again before anything is found to be late")
    func slowPoll() {
        var pacing = RoundPacing()
        pacing.polls(at: Self.start)
        let isDue = pacing.isPollDue(at: Self.start + .milliseconds(1))
        #expect(isDue)
    }

    /// How many rounds may not wait before one may.
    private static func penalty(_ pacing: inout WaitPacing) -> Int {
        var rounds = 0
        while !pacing.mayWait() { rounds += 1 }
        return rounds
    }

    @Test("After a wait in vain the next rounds don't wait, twice as many each time, up to a limit")
    func waiting() {
        var pacing = WaitPacing()
        var penalties = [Self.penalty(&pacing)]
        for inVain in [true, true, true, true, true, true, true, true, true, false, true] {
            pacing.waited(inVain: inVain)
            penalties.append(Self.penalty(&pacing))
        }
        #expect(penalties == [0, 1, 2, 4, 8, 16, 32, 64, 64, 64, 0, 1])
    }

    @Test("Multis check their connections again when all is quiet, or after some rounds")
    func rechecking() {
        var pacing = RoundPacing()
        let quiet = pacing.isRecheckDue(isQuiet: true)
        let due = (0..<RoundPacing.roundsPerRecheck).map { _ in pacing.isRecheckDue(isQuiet: false) }
        let next = pacing.isRecheckDue(isQuiet: false)
        #expect(quiet && !next && due.dropLast().allSatisfy { !$0 } && due.last == true)
    }
}
