import Testing

@testable import CurlTransport

@Suite("When a multi without transfers may go")
struct IdleClockTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("Connections are kept for their lifetime, and a handle without any for a moment")
    func lifetimes() {
        var clock = IdleClock(lifetime: .seconds(118))
        clock.connectionBegan()
        clock.connectionBegan()
        clock.start(at: Self.start)
        #expect(clock.end == Self.start + .seconds(118))
        clock.connectionEnded()
        #expect(clock.end == Self.start + .seconds(118))
        clock.connectionEnded()
        #expect(clock.end == Self.start + .seconds(1))
    }

    @Test("A lifetime shorter than a moment holds for connections and handle")
    func short() {
        var clock = IdleClock(lifetime: .milliseconds(1))
        clock.start(at: Self.start)
        #expect(clock.end == Self.start + .milliseconds(1))
    }

    @Test("Connections that end more often than they begin are none")
    func extraEnds() {
        var clock = IdleClock(lifetime: .seconds(118))
        clock.connectionEnded()
        clock.connectionBegan()
        #expect(clock.connectionCount == 1)
        clock.closed()
        #expect(clock.connectionCount == 0)
    }
}
