import Foundation
import Testing

@testable import CurlNetworking

@Suite("A task's begin date and the system's clock")
struct BeginDatePolicyTests {
    /// The clock is set.
    struct Jump {
        /// How long the task has been waiting, in seconds.
        let after: TimeInterval
        /// In seconds.
        let by: TimeInterval
    }

    /// In seconds.
    private static let day: TimeInterval = 24 * 60 * 60
    private let start = Date(timeIntervalSince1970: 1_700_000_000)

    /// Jumps during the wait for a date that is a day ahead, and when it comes, in seconds.
    static let jumps: [([Jump], TimeInterval)] = [
        ([], day),
        // Forward: beyond the date, to it, and short of it.
        ([Jump(after: 90, by: 2 * day)], 90), ([Jump(after: 90, by: day - 90)], 90),
        ([Jump(after: 90, by: day / 2)], day / 2),
        // Back.
        ([Jump(after: 90, by: -3600)], day + 3600), ([Jump(after: day - 1, by: -30 * day)], 31 * day),
        // Forward and, before the task has looked, back again.
        ([Jump(after: 90, by: 2 * day), Jump(after: 100, by: -2 * day)], day),
        // A little, shortly before the date.
        ([Jump(after: day - 1, by: -10)], day + 10), ([Jump(after: day - 40, by: 30)], day - 30),
    ]

    /// What the clock shows after `elapsed` seconds.
    private func time(after elapsed: TimeInterval, _ jumps: [Jump]) -> Date {
        start + elapsed + jumps.filter { $0.after <= elapsed }.reduce(0) { $0 + $1.by }
    }

    @Test("However the clock jumps, a task begins within a minute of its date, and never before it", arguments: jumps)
    func clock(jumps: [Jump], due: TimeInterval) {
        let date = start + Self.day
        var elapsed: TimeInterval = 0
        while let wait = BeginDatePolicy.wait(for: date, at: time(after: elapsed, jumps)) {
            elapsed += wait / .seconds(1)
        }
        #expect(time(after: elapsed, jumps) >= date)
        #expect(due...due + 60 ~= elapsed)
    }

    @Test("A task whose begin date has passed, or that has none, doesn't wait")
    func passed() {
        for date in [nil, start, start - 1, .distantPast, Date(timeIntervalSinceReferenceDate: .nan)] {
            #expect(BeginDatePolicy.wait(for: date, at: start) == nil)
        }
    }

    @Test("The last wait ends at the begin date")
    func lastWait() {
        #expect(BeginDatePolicy.wait(for: start + 0.5, at: start) == .milliseconds(500))
        #expect(BeginDatePolicy.wait(for: .distantFuture, at: start) == .seconds(60))
    }
}
