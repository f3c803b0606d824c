import CurlTransport
import Foundation

/// The order in which a stream task's reads, writes and transitions are carried out. A value without side effects: calls and the
/// connection's events go in, `Action`s come out.
///
/// `closeRead` takes its turn among the reads and `closeWrite` among the writes; see `StreamOperations` for the order.
///
/// `Reader` and `Writer` stand for the callers that wait for a read or a write; each is finished exactly once.
struct StreamQueue<Reader, Writer> {
    /// Something for the port to do. The queue assumes that it is done.
    enum Action {
        case finishRead(Reader, StreamReading)
        case finishWrite(Writer, StreamFailure?)
        /// Nothing more is written.
        case closeWriting
        /// Nothing more is read, because the other side has ended or the program wants no more.
        case tellReadClosed
        case tellWriteClosed
        /// Reads and writes wait until `transitionEnded`.
        case begin(Transition)
        /// The transition has taken too long.
        case timeOutTransition
        /// Both directions are closed, and the delegate and all callers have been told: the task is over.
        case end
    }

    typealias Transition = StreamOperations<Reader, Writer>.Transition
    private typealias Read = StreamOperations<Reader, Writer>.Read
    private typealias Write = StreamOperations<Reader, Writer>.Write

    private enum Connection {
        /// There is none yet.
        case awaited
        case open
        case inTransition
        /// In both directions, and the delegate and all callers have been told.
        case closed
        /// Nothing is carried out any more.
        case over(StreamFailure)
    }

    private enum ReadSide {
        case open
        /// The other side has ended; what it sent before may still be here.
        case ended
        case closed
    }

    private enum WriteSide {
        case open
        case closed
        /// A write took too long, and it isn't known how much of it was sent.
        case timedOut

        /// With which every write fails from now on; nil while it is open.
        var failure: StreamFailure? {
            switch self {
            case .open: nil
            case .closed: .writeClosed
            case .timedOut: .timedOut
            }
        }
    }

    private var connection = Connection.awaited
    private var readSide = ReadSide.open
    private var writeSide = WriteSide.open
    private var operations = StreamOperations<Reader, Writer>()
    /// The operations that have begun.
    private var current = (read: Read?.none, write: Write?.none)
    /// When the current operations time out.
    private var ends = StreamTimeouts()
    /// Bytes that no read had room for, or whose read has failed without them.
    private(set) var surplus = Data()
    private var actions = Fifo<Action>()

    /// - Parameter writes: Whether there is anything to write to.
    init(writes: Bool = true) {
        if !writes { writeSide = .closed }
    }

    // MARK: - The program's operations

    /// Reads at least `minimum` and at most `maximum` bytes. A minimum of 0 counts as 1; a time-out of nil means none. If the read fails
    /// with the task, bytes too few for it go to the reader if it takes them, and otherwise to the next read.
    mutating func read(
        _ minimum: Int,
        _ maximum: Int,
        timeout: Duration?,
        _ reader: Reader,
        takesBytesOnFailure: Bool = true,
        at now: MonotonicTime
    ) {
        let minimum = max(1, minimum)
        guard minimum <= maximum else {
            return actions.append(.finishRead(reader, .failed(.invalidLength, Data())))
        }
        let read = Read(
            minimum: minimum,
            maximum: maximum,
            timeout: timeout,
            reader: reader,
            takesBytesOnFailure: takesBytesOnFailure
        )
        add(.read(read), at: now)
    }

    /// Writes all of `data`.
    mutating func write(_ data: Data, timeout: Duration?, _ writer: Writer, at now: MonotonicTime) {
        add(.write(Write(data: data, timeout: timeout, writer: writer)), at: now)
    }

    mutating func closeRead(at now: MonotonicTime) {
        add(.closeRead, at: now)
    }

    mutating func closeWrite(at now: MonotonicTime) {
        add(.closeWrite, at: now)
    }

    mutating func add(_ transition: Transition, at now: MonotonicTime) {
        add(.transition(transition), at: now)
    }

    var isPaused: Bool { ends.isPaused }

    /// The task is suspended or continues. While it is suspended, nothing is read or written, and the time-outs stand still.
    mutating func setPaused(_ isPaused: Bool, at now: MonotonicTime) {
        ends.setPaused(isPaused, at: now)
        advance(at: now)
    }

    private mutating func add(
        _ operation: StreamOperations<Reader, Writer>.Operation,
        at now: MonotonicTime
    ) {
        operations.append(operation)
        advance(at: now)
    }

    // MARK: - The connection's events

    mutating func opened(at now: MonotonicTime) {
        guard case .awaited = connection else { return }
        connection = .open
        advance(at: now)
    }

    /// The current transition is over. After a capture, nothing is read or written any more.
    mutating func transitionEnded(at now: MonotonicTime) {
        guard case .inTransition = connection else { return }
        connection = .open
        ends.limitTransition(to: nil, at: now)
        advance(at: now)
    }

    /// Limits the rest of the current transition; nil for no time-out.
    mutating func limitTransition(to limit: Duration?, at now: MonotonicTime) {
        guard case .inTransition = connection else { return }
        ends.limitTransition(to: limit, at: now)
    }

    /// How many bytes are wanted at the moment; 0 for none.
    var wantedCount: Int {
        guard moves, case .open = readSide, let read = current.read else { return 0 }
        return read.maximum - read.bytes.count
    }

    /// Bytes that arrive after the end, such as plain text after the other side has ended TLS, are dropped.
    mutating func received(_ bytes: Data, at now: MonotonicTime) {
        guard case .open = readSide else { return }
        if surplus.isEmpty { surplus = bytes } else { surplus.append(bytes) }
        advance(at: now)
    }

    /// The other side sends no more.
    mutating func receivedEnd(at now: MonotonicTime) {
        guard case .open = readSide else { return }
        if case .over = connection { return }
        readSide = .ended
        actions.append(.tellReadClosed)
        advance(at: now)
    }

    /// The bytes to write next; nil for none.
    var unwritten: Data? {
        guard moves, case .open = writeSide, let write = current.write, write.count < write.data.count else {
            return nil
        }
        return write.data.dropFirst(write.count)
    }

    mutating func wrote(_ count: Int, at now: MonotonicTime) {
        current.write?.count += count
        advance(at: now)
    }

    /// Whether a read added now would be the first, with no bytes left over from earlier ones.
    var awaitsRead: Bool {
        guard isIdle, case .open = readSide else { return false }
        return current.read == nil && !operations.hasReads && surplus.isEmpty
    }

    /// Whether a write added now would be the first.
    var awaitsWrite: Bool {
        guard isIdle, case .open = writeSide else { return false }
        return current.write == nil && !operations.hasWrites
    }

    /// Whether reads and writes are carried out as they come.
    private var isIdle: Bool {
        if case .open = connection { moves && operations.transition == nil } else { false }
    }

    /// When to call `timePassed`; nil for never.
    var nextEnd: MonotonicTime? {
        ends.isPaused ? nil : ends.next
    }

    mutating func timePassed(_ now: MonotonicTime) {
        guard !ends.isPaused else { return }
        if let end = ends.read, end <= now { timeOutRead() }
        if let end = ends.write, end <= now { timeOutWrite() }
        if let end = ends.transition, end <= now {
            ends.limitTransition(to: nil, at: now)
            actions.append(.timeOutTransition)
        }
        advance(at: now)
    }

    /// Everything is over: all waiting and later callers are told why. Reads first get the bytes that have arrived, if the failure leaves
    /// them.
    mutating func fail(_ failure: StreamFailure) {
        switch connection {
        case .over: return
        case .inTransition: dropUnread()
        case .awaited, .open, .closed: if !failure.leavesBytes { dropUnread() }
        }
        connection = .over(failure)
        ends.clear()
        failRead(failure)
        finishWrite(failure)
        failAll(failure)
    }

    // MARK: - Actions

    /// The next action; nil if there is none.
    mutating func next() -> Action? { actions.popFirst() }

    // MARK: - The rules

    private var moves: Bool {
        switch connection {
        case .open: !ends.isPaused
        // Callers are still told that nothing moves any more, even while the task is suspended: it may complete meanwhile.
        case .closed: true
        case .awaited, .inTransition, .over: false
        }
    }

    private mutating func advance(at now: MonotonicTime) {
        if case .over(let failure) = connection { return failAll(failure) }
        guard moves else { return }
        while takeRead(at: now) {}
        while takeWrite(at: now) {}
        guard current.read == nil, current.write == nil, !operations.hasReads, !operations.hasWrites else { return }
        switch (connection, operations.transition) {
        case (.open, .some(let transition)):
            operations.removeTransition()
            connection = .inTransition
            actions.append(.begin(transition))
        case (.closed, .some):
            operations.removeTransition()
            advance(at: now)
        case (.open, nil) where isClosed:
            connection = .closed
            actions.append(.end)
        default: break
        }
    }

    private var isClosed: Bool {
        switch (readSide, writeSide) {
        case (.open, _), (_, .open): false
        case (.ended, _): surplus.isEmpty
        case (.closed, _): true
        }
    }

    /// Continues the current read, or begins the next. Returns true if it is over, and the next may begin.
    private mutating func takeRead(at now: MonotonicTime) -> Bool {
        if current.read == nil {
            switch operations.takeRead() {
            case .read(let read):
                if case .closed = readSide {
                    actions.append(.finishRead(read.reader, .failed(.readClosed, Data())))
                    return true
                }
                current.read = read
                ends.read = read.timeout.map { now + $0 }
            case .closeRead:
                closeReading()
                return true
            default:
                return false
            }
        }
        return answerRead()
    }

    /// Gives the current read the bytes that have arrived. Returns true if they are enough.
    private mutating func answerRead() -> Bool {
        fillRead()
        guard let read = current.read else { return false }
        let hasEnded = if case .ended = readSide { true } else { false }
        guard hasEnded || read.bytes.count >= read.minimum else { return false }
        finishRead(.read(read.bytes, isAtEnd: hasEnded && surplus.isEmpty))
        return true
    }

    private mutating func fillRead() {
        guard !surplus.isEmpty, let room = current.read.map({ $0.maximum - $0.bytes.count }), room > 0 else { return }
        if surplus.count <= room {
            if current.read?.bytes.isEmpty == true {
                // Programs expect the first byte at index 0.
                current.read?.bytes = surplus.startIndex == 0 ? surplus : Data(surplus)
            } else {
                current.read?.bytes.append(surplus)
            }
            surplus = Data()
        } else {
            current.read?.bytes.append(surplus.prefix(room))
            surplus.consume(room)
        }
    }

    private mutating func finishRead(_ reading: StreamReading) {
        guard let read = current.read.take() else { return }
        ends.read = nil
        actions.append(.finishRead(read.reader, reading))
    }

    private mutating func closeReading() {
        defer { readSide = .closed }
        surplus = Data()
        if case .open = readSide { actions.append(.tellReadClosed) }
    }

    /// Times out the current read, whose bytes go to the next.
    private mutating func timeOutRead() {
        guard let read = current.read else { return }
        surplus = read.bytes + surplus
        finishRead(.failed(.timedOut, Data()))
    }

    /// The task is over: the current read gets the bytes left.
    private mutating func failRead(_ failure: StreamFailure) {
        guard !answerRead(), let read = current.read else { return }
        if read.takesBytesOnFailure { return finishRead(.failed(failure, read.bytes)) }
        if case .open = readSide { surplus = read.bytes }
        finishRead(.failed(failure, Data()))
    }

    private mutating func dropUnread() {
        surplus = Data()
        readSide = .closed
    }

    /// Like `takeRead`.
    private mutating func takeWrite(at now: MonotonicTime) -> Bool {
        if current.write == nil {
            switch operations.takeWrite() {
            case .write(let write):
                if let failure = writeSide.failure {
                    actions.append(.finishWrite(write.writer, failure))
                    return true
                }
                current.write = write
                ends.write = write.timeout.map { now + $0 }
            case .closeWrite:
                closeWriting()
                return true
            default:
                return false
            }
        }
        guard let write = current.write, write.count >= write.data.count else { return false }
        finishWrite(nil)
        return true
    }

    private mutating func finishWrite(_ failure: StreamFailure?) {
        guard let write = current.write.take() else { return }
        ends.write = nil
        actions.append(.finishWrite(write.writer, failure))
    }

    private mutating func closeWriting() {
        guard case .open = writeSide else { return }
        writeSide = .closed
        actions.append(.closeWriting)
        actions.append(.tellWriteClosed)
    }

    /// How much was sent isn't known, so nothing may follow.
    private mutating func timeOutWrite() {
        guard current.write != nil else { return }
        writeSide = .timedOut
        finishWrite(.timedOut)
        actions.append(.tellWriteClosed)
    }

    private mutating func failAll(_ failure: StreamFailure) {
        for operation in operations.removeAll() {
            switch operation {
            case .read(let read):
                current.read = read
                failRead(failure)
            case .write(let write): actions.append(.finishWrite(write.writer, failure))
            case .closeWrite: break
            // Bytes from before TLS began may have been injected (RFC 3207 §4.1.1): later reads must not get them.
            case .closeRead, .transition: dropUnread()
            }
        }
    }

    /// Whether a write timed out: then the task fails with that error once both directions are closed.
    var hasWriteTimedOut: Bool {
        if case .timedOut = writeSide { true } else { false }
    }
}
