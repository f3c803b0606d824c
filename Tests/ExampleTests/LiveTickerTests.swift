import CurlNetworkingLoopbackServer
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import curlnetworking_live_ticker

@Suite("The example of a live ticker", .timeLimit(.minutes(1)))
struct LiveTickerTests {
    /// A clock on which no time passes but what is slept, and that is over at once.
    private final class SkippingClock: Clock, Sendable {
        struct Instant: InstantProtocol {
            var offset: Duration
            func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
            func duration(to other: Self) -> Duration { other.offset - offset }
            static func < (a: Self, b: Self) -> Bool { a.offset < b.offset }
        }

        private let state = Mutex<(now: Duration, slept: [Duration])>((.zero, []))

        var now: Instant { Instant(offset: state.withLock { $0.now }) }
        var minimumResolution: Duration { .zero }
        var slept: [Duration] { state.withLock { $0.slept } }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            try Task.checkCancellation()
            state.withLock { state in
                state.slept.append(deadline.offset - state.now)
                state.now = max(state.now, deadline.offset)
            }
        }
    }

    private static func quote(_ id: Int) -> LoopbackServer.Step {
        .frame(.text(#"{"id": \#(id), "symbol": "ACME", "price": \#(100 + id)}"#))
    }

    private static func ticker(
        _ request: LoopbackServer.Request,
        _ steps: [LoopbackServer.Step]
    ) -> LoopbackServer.Response {
        .webSocket(request) { event in
            if case .opened = event { steps } else { [] }
        }
    }

    private static func url(_ server: LoopbackServer) throws -> URL {
        let text = server.url("/prices").absoluteString
        return try #require(URL(string: text.replacingOccurrences(of: "http:", with: "ws:")))
    }

    @Test("The live ticker comes back to a server that drops or refuses it, later each time, for what comes next")
    func reconnecting() async throws {
        let server = try LoopbackServer { request in
            switch request.ordinal {
            case 1: Self.ticker(request, [Self.quote(1), Self.quote(2), .close])
            case 2: .status(503)
            case 3: .raw([.close])
            case 4: Self.ticker(request, [Self.quote(2), Self.quote(3), .frame(.close(1001)), .close])
            default: Self.ticker(request, [Self.quote(4), .frame(.close(1000)), .close])
            }
        }
        defer { server.stop() }
        let clock = SkippingClock()
        var generator = SeededGenerator(seed: 1)
        var (ids, delays) = ([Int](), [Duration]())
        try await Ticker(url: Self.url(server), clock: clock).run(after: 0, using: &generator) { quote in
            ids.append(quote.id)
        } lost: { _, delay in
            delays.append(delay)
        }
        #expect(ids == [1, 2, 3, 4])
        #expect(server.requests.map { $0.parameter("after") } == ["0", "2", "2", "2", "3"])
        #expect(clock.slept == delays)
        // A price in between begins the row anew.
        var (expected, same) = (BackOff(), SeededGenerator(seed: 1))
        var row = (0..<3).map { _ in expected.next(using: &same) }
        expected.succeeded()
        row.append(expected.next(using: &same))
        #expect(delays == row)
    }

    @Test("The delays double up to the longest, and none is below half of that", arguments: 0..<20 as Range<UInt64>)
    func backOff(_ seed: UInt64) {
        var (backOff, generator) = (BackOff(), SeededGenerator(seed: seed))
        var ceiling = Duration.milliseconds(500)
        for _ in 0..<100 {
            let delay = backOff.next(using: &generator)
            #expect(delay >= ceiling * 0.5 && delay <= ceiling)
            ceiling = min(.seconds(60), ceiling * 2)
        }
        backOff.succeeded()
        #expect(backOff.next(using: &generator) <= .milliseconds(500))
    }

    @Test("Clients that were lost together don't come back together")
    func jitter() {
        let delays = (0..<100 as Range<UInt64>).map { seed in
            var (backOff, generator) = (BackOff(), SeededGenerator(seed: seed))
            return backOff.next(using: &generator)
        }
        #expect(Set(delays).count > 90)
    }

    @Test(
        "The live ticker doesn't come back to a server that rejects it, or that sends something else",
        arguments: [true, false]
    )
    func giveUp(_ isRefusal: Bool) async throws {
        let server = try LoopbackServer { request in
            isRefusal ? .status(403) : Self.ticker(request, [.frame(.text("hello"))])
        }
        defer { server.stop() }
        let program = try ExampleProgram.start("live-ticker", Self.url(server).absoluteString, "7", mergesErrors: true)
        #expect(await program.remainingLines() == [isRefusal ? "the server refuses: 403" : "unreadable"])
        #expect(await program.ending() == .exit(1))
        #expect(server.requests.map { $0.parameter("after") } == ["7"])
    }

    @Test("The live ticker prints what comes, and ends with the server or with Ctrl-C", arguments: [true, false])
    func program(_ isInterrupted: Bool) async throws {
        let server = try LoopbackServer { request in
            Self.ticker(request, [Self.quote(1)] + (isInterrupted ? [] : [.frame(.close(1000)), .close]))
        }
        defer { server.stop() }
        let program = try ExampleProgram.start("live-ticker", Self.url(server).absoluteString, mergesErrors: true)
        #expect(await program.line() == "1\tACME\t101.0")
        if isInterrupted { program.kill(SIGINT) }
        #expect(await program.remainingLines() == (isInterrupted ? ["interrupted"] : []))
        #expect(await program.ending() == .exit(isInterrupted ? 130 : 0))
    }
}
