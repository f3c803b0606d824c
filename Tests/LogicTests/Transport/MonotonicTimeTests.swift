import Testing

@testable import CurlTransport

@Suite("Monotonic time")
struct MonotonicTimeTests {
    @Test("Monotonic time goes with the continuous clock")
    func clock() {
        // Taken before and after, so that it can only be longer.
        let reference = ContinuousClock.now
        let start = MonotonicTime.now
        var end = start
        while end == start { end = .now }
        #expect(end > start)
        #expect(end - start <= reference.duration(to: .now) + .milliseconds(1))
    }

    @Test(
        "Adding and subtracting are exact to the nanosecond",
        arguments: [
            Duration.zero, .nanoseconds(1), .milliseconds(1500), .seconds(60), .seconds(100 * 366 * 24 * 60 * 60),
        ]
    )
    func arithmetic(duration: Duration) {
        let start = MonotonicTime(nanoseconds: 1_234_567_890_123)
        #expect((start + duration) - start == duration)
        #expect(start + duration >= start)
    }

    @Test("Times beyond all reach are no trap")
    func saturation() {
        let start = MonotonicTime(nanoseconds: 5)
        #expect((start + .seconds(Int64.max)).nanoseconds == .max)
        #expect((start + .seconds(Int64.min)).nanoseconds == 0)
        #expect((start + .seconds(Int64.max)) - start > .seconds(200 * 365 * 24 * 60 * 60))
    }
}
