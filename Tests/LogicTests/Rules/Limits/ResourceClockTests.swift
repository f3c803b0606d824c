import Testing

@testable import CurlTransport
@testable import CurlNetworking

@Suite("The clock of timeoutIntervalForResource")
struct ResourceClockTests {
    private static func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test("The clock stands still until it is let run, and then ends a limit later")
    func running() {
        var clock = ResourceClock(.seconds(10))
        #expect(clock.end == nil)
        #expect(clock.setRunning(true, at: Self.time(100)) == true)
        #expect(clock.end == Self.time(110))
        #expect(clock.setRunning(true, at: Self.time(105)) == false)
        #expect(clock.end == Self.time(110))
    }

    @Test("The time for which the clock stands still doesn't count, however often it does")
    func stopping() {
        var clock = ResourceClock(.seconds(10))
        for round in 0..<5 as Range<Int64> {
            #expect(clock.setRunning(true, at: Self.time(100 + 1000 * round)) == true)
            #expect(clock.end == Self.time(110 + 1000 * round - 2 * round))
            #expect(clock.setRunning(false, at: Self.time(102 + 1000 * round)) == true)
            #expect(clock.end == nil)
        }
        #expect(clock.setRunning(false, at: Self.time(9000)) == false)
        #expect(clock.setRunning(true, at: Self.time(9000)) == true)
        #expect(clock.end == Self.time(9000))
    }

    @Test("A clock that is stopped late has nothing left")
    func late() {
        var clock = ResourceClock(.seconds(10))
        #expect(clock.setRunning(true, at: Self.time(100)) == true)
        #expect(clock.setRunning(false, at: Self.time(500)) == true)
        #expect(clock.setRunning(true, at: Self.time(600)) == true)
        #expect(clock.end == Self.time(600))
    }

    @Test("A limit of centuries is no trouble")
    func centuries() {
        var clock = ResourceClock(.seconds(Int64.max))
        for round in 0..<3 as Range<Int64> {
            #expect(clock.setRunning(true, at: Self.time(1 + 2 * round)) == true)
            #expect(clock.end == MonotonicTime(nanoseconds: .max))
            #expect(clock.setRunning(false, at: Self.time(2 + 2 * round)) == true)
        }
    }
}
