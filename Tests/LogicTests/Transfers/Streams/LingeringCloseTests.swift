import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("When a connection is closed on which both directions are")
struct LingeringCloseTests {
    private let start = MonotonicTime.now

    /// The verdicts of looks, each a second after the one before, which find these counts.
    private func verdicts(_ first: Int, then counts: [Int]) -> [LingeringClose.Verdict] {
        var lingering = LingeringClose(unacknowledged: first, at: start)
        return counts.enumerated().map { index, count in
            lingering.look(unacknowledged: count, at: start + .seconds(index + 1))
        }
    }

    @Test("The connection is closed at the first look that finds everything acknowledged")
    func acknowledged() {
        #expect(verdicts(100, then: [0]) == [.close])
        #expect(verdicts(0, then: [0]) == [.close])
        #expect(verdicts(100, then: [100, 1, 0]) == [.wait, .wait, .close])
    }

    @Test("The connection isn't closed while the other side takes something at least every thirty seconds")
    func slow() {
        let counts = (1...10).reversed().flatMap { Array(repeating: $0, count: 30) }
        #expect(verdicts(11, then: counts) == Array(repeating: .wait, count: 300))
    }

    @Test("The connection is given up after thirty seconds in which the other side takes nothing")
    func stalled() {
        #expect(verdicts(100, then: Array(repeating: 100, count: 30)) == Array(repeating: .wait, count: 29) + [.giveUp])
        let counts = [100] + Array(repeating: 50, count: 31)
        #expect(verdicts(100, then: counts) == Array(repeating: .wait, count: 31) + [.giveUp])
        // FIN may come on top of what there was before.
        #expect(verdicts(0, then: Array(repeating: 1, count: 30)) == Array(repeating: .wait, count: 29) + [.giveUp])
    }
}
