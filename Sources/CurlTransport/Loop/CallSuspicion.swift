/// Which connections keep a call into libcurl from returning, judged from outside by looks at it. A pure value.
struct CallSuspicion {
    /// Where the loop was at the last look.
    private var place: UInt64 = 0
    /// How many bytes libcurl had passed on by then, and had read, by socket. Nothing was read as long as the call hasn't been seen twice.
    private var passedBefore: Int64 = 0
    private var readBefore: [Int32: ClosedRange<Int64>] = [:]
    /// The sockets that were suspect then.
    private var suspects: Set<Int32> = []

    /// In bytes, between two looks. A call that waits for something else reads next to nothing; one that a peer keeps busy reads far more.
    static let least: Int64 = 16 * 1024
    /// How many bytes may be read for each one that is passed on.
    static let mostForEach: Int64 = 16

    /// Called once a second. Returns the sockets from which one call has read for two seconds without passing on what it has read.
    ///
    /// - Parameters:
    ///   - place: Where the loop is; see `CallWatch`.
    ///   - passed: How many bytes libcurl has passed on by now.
    ///   - read: How many bytes have been read by now, by socket; called only if the call is the same as at the last look.
    mutating func look(
        at place: UInt64,
        passed: Int64,
        read: () -> [Int32: ClosedRange<Int64>]
    ) -> Set<Int32> {
        guard place == self.place, CallWatch.isWithinLibcurl(place) else {
            (self.place, readBefore, suspects) = (place, [:], [])
            return []
        }
        let counts = read()
        let least = Self.least + Self.mostForEach * (passed - passedBefore)
        let reading = counts.filter { socket, count in
            readBefore[socket].map { count.lowerBound - $0.upperBound >= least } ?? false
        }
        let culprits = suspects.intersection(reading.keys)
        (passedBefore, readBefore, suspects) = (passed, counts, Set(reading.keys))
        return culprits
    }
}
