import Testing

@testable import CurlTransport

@Suite("Which connections keep calls into libcurl from returning")
struct CallSuspicionTests {
    /// At one of the looks.
    private struct Look {
        var place: UInt64 = 7
        var passed: Int64 = 0
        /// How much has been read by then, by socket.
        var read: [Int32: ClosedRange<Int64>]
    }

    /// How many looks have to find that a connection kept a call busy since the look before.
    private static let enough = Int(CallSuspicion.most / CallSuspicion.interval)

    /// A connection's figure, of which as much has been read by each look as a busy call reads at least.
    private static func busy(_ look: Int) -> ClosedRange<Int64> {
        let count = Int64(look) * CallSuspicion.least
        return count...count
    }

    /// What each of the looks finds, one after each interval.
    private static func culprits(_ looks: [Look]) -> [Set<Int32>] {
        var suspicion = CallSuspicion()
        var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        return looks.map { look in
            now = now + CallSuspicion.interval
            return suspicion.look(at: look.place, now: now, passed: look.passed) { look.read }
        }
    }

    /// What twice as many looks find as are enough.
    private static func culprits(_ look: (Int) -> Look) -> [Set<Int32>] {
        Self.culprits((0..<2 * enough).map(look))
    }

    @Test("A connection is suspected if one call has read from it for three seconds, and passed nothing on")
    func found() {
        let culprits = Self.culprits { look in
            Look(read: [3: Self.busy(look), 4: 1_000_000...1_000_000, 5: Int64(look)...Int64(look)])
        }
        // The first two looks find out that it is one call, and how much had been read before.
        #expect(culprits.firstIndex { !$0.isEmpty } == Self.enough + 1)
        #expect(culprits.last == [3])
    }

    /// What looks find at a peer that keeps libcurl busy for so many looks, again and again, and lets it return before each.
    private static func culprits(inCallsOf length: Int, pause: Int = 0) -> Set<Int32> {
        var place: UInt64 = 1
        var looks: [Look] = []
        while looks.count < 200 {
            for _ in 0..<length { looks.append(Look(place: place, read: [3: busy(looks.count)])) }
            for _ in 0..<pause { looks.append(Look(place: place + 1, read: [3: busy(looks.count)])) }
            place += 2
        }
        return culprits(looks).reduce([]) { $0.union($1) }
    }

    @Test("A connection that lets calls return now and then is suspected as well", arguments: [6, 10, 20, 40])
    func bursts(length: Int) {
        #expect(Self.culprits(inCallsOf: length) == [3])
    }

    @Test("A connection whose calls take little of the time isn't suspected", arguments: [(10, 30), (20, 80), (2, 0)])
    func fewBursts(length: Int, pause: Int) {
        #expect(Self.culprits(inCallsOf: length, pause: pause).isEmpty)
    }

    @Test("A connection that has the number of one that was closed isn't suspected")
    func forgotten() {
        var suspicion = CallSuspicion()
        var now = MonotonicTime(nanoseconds: 0)
        for look in 0..<100 {
            now = now + CallSuspicion.interval
            if look % 20 == 0 { suspicion.forget(3) }
            let culprits = suspicion.look(at: 1, now: now, passed: 0) { [3: Self.busy(look)] }
            #expect(culprits.isEmpty)
        }
    }

    @Test("A connection from which little is read isn't suspected")
    func slow() {
        let culprits = Self.culprits { look in
            let count = Int64(look) * (CallSuspicion.least - 1)
            return Look(read: [3: count...count])
        }
        #expect(culprits.allSatisfy { $0.isEmpty })
    }

    @Test(
        "No connection is suspected while libcurl is called again and again, or isn't called",
        arguments: [2, 0] as [UInt64]
    )
    func otherCalls(step: UInt64) {
        let culprits = Self.culprits { look in
            // Even outside of libcurl.
            Look(place: step == 0 ? 8 : 7 + step * UInt64(look), read: [3: Self.busy(look)])
        }
        #expect(culprits.allSatisfy { $0.isEmpty })
    }

    @Test("No connection is suspected while what is read is passed on, of which a part may be frames")
    func passing() {
        let culprits = Self.culprits { look in
            let count = Int64(look) * 100_000
            return Look(passed: count / CallSuspicion.maximumReadPerPassedByte, read: [3: count...count])
        }
        #expect(culprits.allSatisfy { $0.isEmpty })
    }

    @Test("Bytes that were passed on before the call don't count")
    func passedBefore() {
        let culprits = Self.culprits { Look(passed: 1_000_000_000, read: [3: Self.busy($0)]) }
        #expect(culprits.last == [3])
    }

    @Test("The least value of an inexact figure counts")
    func inexact() {
        let culprits = Self.culprits { look in
            Look(read: [3: Self.busy(look).lowerBound...Self.busy(look).upperBound + 1])
        }
        #expect(culprits.allSatisfy { $0.isEmpty })
    }

    @Test("A connection that is opened during the call is judged from then on")
    func opened() {
        let culprits = Self.culprits { look in
            Look(read: look < 10 ? [:] : [3: Self.busy(look)])
        }
        #expect(culprits.firstIndex { !$0.isEmpty } == 10 + Self.enough)
    }
}
