import Testing

@testable import CurlTransport

@Suite("Which connections keep a call into libcurl from returning")
struct CallSuspicionTests {
    /// At one of the looks, one a second.
    private struct Look {
        var place: UInt64 = 7
        var passed: Int64 = 0
        /// How much has been read by then, by socket.
        var read: [Int32: ClosedRange<Int64>]
    }

    /// What six looks find that find nobody.
    private static let nobody = [Set<Int32>](repeating: [], count: 6)

    private static func culprits(_ looks: [Look]) -> [Set<Int32>] {
        var suspicion = CallSuspicion()
        return looks.map { look in suspicion.look(at: look.place, passed: look.passed) { look.read } }
    }

    /// What has been read of socket 3 by each look, within one call that passes nothing on.
    private static func culprits(reading counts: [Int64]) -> [Set<Int32>] {
        Self.culprits(counts.map { Look(read: [3: $0...$0]) })
    }

    @Test("Those from which one call has read in each of two seconds, and passed nothing on")
    func found() {
        let looks = (0..<5).map { second in
            let count = Int64(second) * CallSuspicion.least
            return Look(read: [3: count...count, 4: 1_000_000...1_000_000, 5: Int64(second)...Int64(second)])
        }
        let expected: [Set<Int32>] = [[], [], [], [3], [3]]
        #expect(Self.culprits(looks) == expected)
    }

    @Test("Not those that were read from in one second of two")
    func once() {
        let least = CallSuspicion.least
        #expect(Self.culprits(reading: [0, 0, least, least, 2 * least, 3 * least - 1]) == Self.nobody)
    }

    @Test("Nobody while libcurl is called again and again, or isn't called", arguments: [2, 0] as [UInt64])
    func otherCalls(step: UInt64) {
        let looks = (0..<6).map { second in
            let count = Int64(second) * 1_000_000
            // Even outside of libcurl.
            return Look(place: step == 0 ? 8 : 7 + step * UInt64(second), read: [3: count...count])
        }
        #expect(Self.culprits(looks) == Self.nobody)
    }

    @Test("Nobody while what is read is passed on, of which a part may be frames")
    func passing() {
        let looks = (0..<6).map { second in
            let count = Int64(second) * 1_000_000
            return Look(passed: count / CallSuspicion.mostForEach, read: [3: count...count])
        }
        #expect(Self.culprits(looks) == Self.nobody)
    }

    @Test("What was passed on before the call doesn't count")
    func passedBefore() {
        let looks = (0..<4).map { second in
            let count = Int64(second) * 1_000_000
            return Look(passed: 1_000_000_000, read: [3: count...count])
        }
        let expected: [Set<Int32>] = [[], [], [], [3]]
        #expect(Self.culprits(looks) == expected)
    }

    @Test("Of a figure that isn't exact, the least counts")
    func inexact() {
        let looks = (0..<6).map { second in
            let count = Int64(second) * CallSuspicion.least
            return Look(read: [3: count...count + 1])
        }
        #expect(Self.culprits(looks) == Self.nobody)
    }

    @Test("A connection that is opened during the call is judged from then on")
    func opened() {
        let looks = (0..<6).map { second in
            let count = Int64(second) * CallSuspicion.least
            return Look(read: second < 3 ? [:] : [3: count...count])
        }
        let expected: [Set<Int32>] = [[], [], [], [], [], [3]]
        #expect(Self.culprits(looks) == expected)
    }
}
