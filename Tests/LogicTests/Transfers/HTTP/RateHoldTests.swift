import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("How long libcurl may wait to keep to a rate")
struct RateHoldTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("A burst takes as long as it would at the rate, and another is added to it")
    func bursts() {
        var hold = RateHold()
        #expect(hold.end == nil)
        hold.note(1000, at: 100, now: Self.start)
        #expect(hold.end == Self.start + .seconds(10))
        hold.note(1500, at: 100, now: Self.start + .seconds(2))
        #expect(hold.end == Self.start + .seconds(15))
    }

    @Test("What has moved slowly isn't made up for by a burst")
    func slow() {
        var hold = RateHold()
        hold.note(100, at: 100, now: Self.start)
        hold.note(300, at: 100, now: Self.start + .seconds(60))
        #expect(hold.end == Self.start + .seconds(62))
    }

    @Test("Without a rate, or without another byte, there is nothing to wait for")
    func nothing() {
        var hold = RateHold()
        hold.note(1000, at: nil, now: Self.start)
        hold.note(1000, at: 100, now: Self.start)
        #expect(hold.end == nil)
    }

    @Test("A request that is sent again counts from its beginning")
    func again() {
        var hold = RateHold()
        hold.note(1000, at: 1000, now: Self.start)
        hold.note(0, at: 1000, now: Self.start)
        hold.note(500, at: 1000, now: Self.start + .seconds(1))
        #expect(hold.end == Self.start + .seconds(1.5))
    }

    @Test("No count and no rate is too large or too small")
    func extremes() {
        var hold = RateHold()
        hold.note(.max, at: 1, now: Self.start)
        hold.note(0, at: 1, now: Self.start)
        hold.note(.max, at: 1, now: Self.start)
        #expect(hold.end == MonotonicTime(nanoseconds: .max))
        var other = RateHold()
        other.note(1, at: .max, now: Self.start)
        #expect(other.end == Self.start)
    }

    @Test("A transfer is idle from its last byte, or from the end of the wait after it")
    func clock() throws {
        var rates = MaximumRates()
        rates.set(try #require(NamedOption("MAX_SEND_SPEED_LARGE")), to: 100)
        var clock = ActivityClock(last: Self.start)
        clock.noteMoved((1000, 500), at: rates, now: Self.start)
        #expect(clock.idleStart == Self.start + .seconds(5))
        clock.last = Self.start + .seconds(20)
        #expect(clock.idleStart == clock.last)
    }
}
