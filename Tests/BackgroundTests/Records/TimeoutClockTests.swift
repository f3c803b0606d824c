import Dispatch
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The clock of a background task's time-out")
struct TimeoutClockTests {
    private let start = DispatchTime(uptimeNanoseconds: 1_000_000_000)

    private func after(_ seconds: UInt64) -> DispatchTime {
        DispatchTime(uptimeNanoseconds: start.uptimeNanoseconds + seconds * 1_000_000_000)
    }

    @Test("The clock counts while it runs, and goes on from what earlier agents have counted")
    func counting() {
        var clock = TimeoutClock(earlier: 100)
        #expect(clock.elapsed(at: after(50)) == 100)
        #expect(!clock.isRunning)
        clock.start(at: after(50))
        #expect(clock.isRunning)
        // It is running already.
        clock.start(at: after(55))
        #expect(clock.elapsed(at: after(60)) == 110)
        clock.stop(at: after(60))
        #expect(clock.elapsed(at: after(1000)) == 110)
        clock.start(at: after(1000))
        #expect(clock.elapsed(at: after(1001)) == 111)
        #expect(clock.remaining(of: 120, at: after(1001)) == .seconds(9))
        #expect(clock.remaining(of: 120, at: after(5000)) == .zero)
    }

    @Test("The clock never counts backwards, whatever it is asked for")
    func backwards() {
        var clock = TimeoutClock(earlier: 1)
        clock.start(at: after(10))
        #expect(clock.elapsed(at: after(3)) == 1)
        clock.stop(at: after(3))
        #expect(clock.elapsed(at: after(20)) == 1)
    }

    @Test("The time that is left ends, whatever was counted before", arguments: [1e300, .infinity, .nan, -1e300])
    func extremes(earlier: Double) {
        var clock = TimeoutClock(earlier: earlier)
        clock.start(at: start)
        let century = Duration(timeInterval: .infinity)
        #expect(clock.remaining(of: 60, at: start) == (earlier < 0 ? century : .zero))
    }

    @Test(
        "A tenth of the time-out is written down at a time, but neither less than a second nor more than an hour",
        arguments: [(60, 6), (5, 1), (0.1, 1), (7 * 24 * 3600, 3600), (.infinity, 3600)] as [(Double, Int)]
    )
    func interval(timeout: Double, seconds: Int) {
        #expect(TimeoutClock.recordInterval(of: timeout) == .seconds(seconds))
    }

    @Test("The later of what the task's and the session's record say counts, unless it makes no sense")
    func sessionRecord() throws {
        let url = try #require(URL(string: "http://h/"))
        let settings = SessionDescription(.background(withIdentifier: "test"), delegate: nil)
        for (noted, elapsed) in [(50, 50), (7, 42), (-1, 42), (1e300, 42), (.nan, 42)] as [(Double, Double)] {
            var record = TaskRecord(try .download(URLRequest(url: url)))
            record.elapsed = 42
            var session = SessionRecord(identifier: "test", settings: settings)
            record.noteElapsed(in: session)
            #expect(record.elapsed == 42)
            session.elapsed = [record.submission.key.uuidString: noted]
            record.noteElapsed(
                in: try WireCoding.decoder.decode(SessionRecord.self, from: WireCoding.encoder.encode(session))
            )
            #expect(record.elapsed == elapsed)
        }
    }

    @Test("The clock's record has no date: what the system's clock is set to means nothing to another agent")
    func record() throws {
        let url = try #require(URL(string: "http://h/"))
        var record = TaskRecord(try .download(URLRequest(url: url)))
        record.elapsed = 42
        let read = try WireCoding.decoder.decode(TaskRecord.self, from: WireCoding.encoder.encode(record))
        #expect(read.elapsed == 42)
        #expect(read.fault == nil)
        record.elapsed = -1
        #expect(record.fault != nil)
    }
}
