/// Judges which connections keep calls into libcurl from returning, by looking at the loop from outside. A pure value.
///
/// What counts is how long they did so recently, in however many calls: a peer may let libcurl return now and then.
struct CallSuspicion {
    /// The loop's place at the last look.
    private var place: UInt64 = 0
    /// How many bytes libcurl had passed on by then, and had read, by socket. The latter is empty until a call has been
    /// seen twice.
    private var passedBefore: Int64 = 0
    private var readBefore: [Int32: ClosedRange<Int64>] = [:]
    /// When looks found that a call had been kept busy since the previous look, by the socket responsible.
    private var busyLooks: [Int32: [MonotonicTime]] = [:]

    /// Between two looks.
    static let interval = Duration.milliseconds(100)
    /// In bytes, between two looks. A call that waits for something else reads next to nothing; one that a peer keeps
    /// busy reads far more.
    static let least: Int64 = 1600
    /// How many bytes may be read for each one that is passed on.
    static let maximumReadPerPassedByte: Int64 = 16
    /// How long a peer may keep calls busy within the last `span`.
    static let most = Duration.seconds(3)
    static let span = Duration.seconds(10)

    /// Called after each `interval`. Returns the sockets that have kept calls busy for too long: calls kept reading from
    /// them, and didn't pass the bytes on.
    ///
    /// - Parameters:
    ///   - place: The loop's place; see `CallWatch`.
    ///   - now: The time of the look.
    ///   - passed: How many bytes libcurl has passed on by now.
    ///   - read: How many bytes have been read by now, by socket; called only if the call is the same as at the last look.
    mutating func look(
        at place: UInt64,
        now: MonotonicTime,
        passed: Int64,
        read: () -> [Int32: ClosedRange<Int64>]
    ) -> Set<Int32> {
        guard place == self.place, CallWatch.isWithinLibcurl(place) else {
            (self.place, readBefore) = (place, [:])
            return []
        }
        let counts = read()
        let least = Self.least + Self.maximumReadPerPassedByte * (passed - passedBefore)
        let busy = counts.compactMap { socket, count in
            readBefore[socket].map { count.lowerBound - $0.upperBound >= least } == true ? socket : nil
        }
        (passedBefore, readBefore) = (passed, counts)
        return Set(busy.filter { noteBusyLook(at: now, on: $0) })
    }

    /// True if there have been too many lately.
    private mutating func noteBusyLook(at now: MonotonicTime, on socket: Int32) -> Bool {
        var looks = busyLooks[socket, default: []]
        looks.removeAll { now - $0 >= Self.span }
        looks.append(now)
        busyLooks[socket] = looks
        return Self.interval * looks.count >= Self.most
    }

    /// Forgets `socket`, whose number may soon be another socket's.
    mutating func forget(_ socket: Int32) {
        readBefore[socket] = nil
        busyLooks[socket] = nil
    }
}
