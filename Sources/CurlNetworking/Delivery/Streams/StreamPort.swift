import CurlNetworkingLocks
import CurlTransport
import Foundation

/// The caller that waits for a read of a stream task: a handler on the delegate queue, or a Swift task.
enum StreamReader: Sendable {
    case handler(@Sendable (Data?, Bool, (any Error)?) -> Void)
    case continuation(UnsafeContinuation<(Data?, Bool), any Error>)

    /// A Swift task gets either bytes or an error.
    var takesBytesOnFailure: Bool {
        if case .handler = self { true } else { false }
    }
}

/// The caller that waits for a write of a stream task.
enum StreamWriter: Sendable {
    case handler(@Sendable ((any Error)?) -> Void)
    case continuation(UnsafeContinuation<Void, any Error>)
}

/// Carries the bytes of a stream task, over a connection or from a response. Loop only; the port calls it.
protocol StreamCarrier: AnyObject {
    /// The sockets that other threads may use while nothing else does; nil if only the carrier can.
    var sockets: (reading: PlainSocket?, writing: PlainSocket?) { get }
    /// What the port wants to read or to write may have changed.
    func portChanged()
    func closeWriting()
    /// Begins a transition, and reports its end by the port's `transitionEnded()`, unless the task ends first.
    func begin(_ transition: StreamPort.Queue.Transition)
    /// The transition has taken longer than the limit that the carrier set.
    func transitionTimedOut()
    /// Both directions are closed.
    func end()
}

/// The task to which the streams belong. Called on its loop, unless a method says otherwise.
protocol StreamOwner: AnyObject, Sendable {
    var loop: EventLoop { get }
    var shownURL: URL? { get }
    var delegates: DelegateSet { get }
    func tell(_ event: TaskEvent)
    func ask(_ question: TaskQuestion)
    /// Runs `body` on the task's loop. Any thread.
    func submit(_ body: @escaping @Sendable () -> Void)
    /// Calls the program's handler on the delegate queue, in order with the task's messages, but ahead of its completion.
    func reply(_ handler: @escaping @Sendable () -> Void)
    /// The same, from any thread.
    func call(_ handler: @escaping @Sendable () -> Void)
}

/// A stream task's reads and writes, between the program and the carrier of its bytes.
///
/// A read whose bytes are already at the socket, and a write for which the socket has room, are carried out on the caller's thread if
/// nothing is ahead of them. The loop does everything else.
///
/// `@unchecked Sendable`: `inbox` is guarded; all else belongs to the loop, except `owner`, which is set before anything else sees the
/// port.
final class StreamPort: @unchecked Sendable {
    typealias Queue = StreamQueue<StreamReader, StreamWriter>

    /// What a program asks of a stream task.
    enum Operation: Sendable {
        case read(minimum: Int, maximum: Int, timeout: Duration?, StreamReader)
        case write(Data, timeout: Duration?, StreamWriter)
        case closeRead
        case closeWrite
        case transition(Queue.Transition)
        /// Bytes that were too few for the read that follows.
        case arrived(Data)
    }

    // MARK: Any thread

    private let inbox = Mutex(Inbox())

    // MARK: Loop only

    weak var owner: (any StreamOwner)?
    /// Set from opening the stream until its end.
    private var carrier: (any StreamCarrier)?
    private var queue: Queue
    private var deadline: Deadline?
    private var isServing = false
    /// Whether the streams belong to the program: then readers and writers aren't told of the task's end.
    private(set) var wasCaptured = false

    /// - Parameter writes: Whether there is anything to write to.
    init(writes: Bool = true) {
        queue = Queue(writes: writes)
    }

    /// Notes an operation. Any thread; operations are carried out in the order of the calls.
    ///
    /// - Parameter waitsForLoop: Whether the task is suspended or cancelled, of which the loop may not know yet.
    func add(_ operation: Operation, for owner: any StreamOwner, waitsForLoop: Bool) {
        let answer = inbox.withLock { inbox in
            if waitsForLoop { inbox.lend((nil, nil)) }
            return inbox.add(operation, for: owner)
        }
        if let answer { return answer() }
        // The program may have dropped the task by then; the owner is needed to answer the caller.
        owner.submit { withExtendedLifetime(owner) { self.takeOperations() } }
    }

    /// Notes the program's operations so far, and the bytes that callers have received. Loop.
    func takeOperations() {
        guard let now = owner?.loop.now else { return }
        while let operation = inbox.withLock({ $0.operations.popFirst() }) {
            switch operation {
            case .read(let minimum, let maximum, let timeout, let reader):
                let takesBytes = reader.takesBytesOnFailure
                queue.read(minimum, maximum, timeout: timeout, reader, takesBytesOnFailure: takesBytes, at: now)
            case .write(let data, let timeout, let writer): queue.write(data, timeout: timeout, writer, at: now)
            case .closeRead: queue.closeRead(at: now)
            case .closeWrite: queue.closeWrite(at: now)
            case .transition(let transition): queue.add(transition, at: now)
            case .arrived(let bytes): queue.received(bytes, at: now)
            }
        }
        serve()
    }

    // MARK: - For the carrier

    /// The stream is open, and `carrier` carries its bytes.
    func open(over carrier: any StreamCarrier) {
        self.carrier = carrier
        change { $0.opened(at: $1) }
    }

    var wantedCount: Int { queue.wantedCount }
    var unwritten: Data? { queue.unwritten }

    func received(_ bytes: Data) {
        change { $0.received(bytes, at: $1) }
    }

    func receivedEnd() {
        change { $0.receivedEnd(at: $1) }
    }

    func wrote(_ count: Int) {
        change { $0.wrote(count, at: $1) }
    }

    func transitionEnded() {
        change { $0.transitionEnded(at: $1) }
    }

    /// Limits the rest of the current transition, not counting suspensions of the task; nil for no limit.
    func limitTransition(to limit: Duration?) {
        change { $0.limitTransition(to: limit, at: $1) }
    }

    var isPaused: Bool { queue.isPaused }

    func setPaused(_ isPaused: Bool) {
        change { $0.setPaused(isPaused, at: $1) }
    }

    /// The task is over, or its streams were captured: all waiting reads and writes fail. Bytes that have arrived can still be read, if the
    /// failure leaves them.
    func fail(_ failure: StreamFailure) {
        carrier = nil
        change { queue, _ in queue.fail(failure) }
        // Callers up to now are answered before the task completes.
        takeOperations()
    }

    /// Bytes that have arrived and haven't been read.
    var surplus: Data { queue.surplus }

    /// Notes that the connection belongs to the program.
    func noteCapture() {
        wasCaptured = true
    }

    /// Why the task fails although both directions are closed; nil if it doesn't.
    var failure: URLError? {
        queue.hasWriteTimedOut ? StreamFailure.timedOut.error(about: owner?.shownURL) : nil
    }

    // MARK: - Actions

    private func change(_ change: (inout Queue, MonotonicTime) -> Void) {
        guard let loop = owner?.loop else { return }
        change(&queue, loop.now)
        serve()
    }

    /// Performs actions until none is left: each may change the queue.
    private func serve() {
        guard !isServing else { return }
        isServing = true
        while let action = queue.next() { perform(action) }
        isServing = false
        arm()
        carrier?.portChanged()
        lendSockets()
    }

    /// Lets other threads read and write, in each direction in which nothing waits.
    private func lendSockets() {
        var sockets = carrier?.sockets ?? (reading: nil, writing: nil)
        if !queue.awaitsRead { sockets.reading = nil }
        if !queue.awaitsWrite { sockets.writing = nil }
        inbox.withLock { $0.lend(sockets) }
    }

    private func perform(_ action: Queue.Action) {
        switch action {
        case .finishRead(let reader, let reading): finish(reader, reading)
        case .finishWrite(let writer, let failure): finish(writer, failure)
        case .closeWriting: carrier?.closeWriting()
        case .tellReadClosed: owner?.tell(.readClosed)
        case .tellWriteClosed: owner?.tell(.writeClosed)
        case .begin(let transition): carrier?.begin(transition)
        case .timeOutTransition: carrier?.transitionTimedOut()
        case .end: carrier.take()?.end()
        }
    }

    private func finish(_ reader: StreamReader, _ reading: StreamReading) {
        guard let owner else { return }
        switch (reader, reading) {
        case (.handler(let handler), .read(let data, let isAtEnd)):
            owner.reply { handler(data, isAtEnd, nil) }
        case (.handler(let handler), .failed(let failure, let data)):
            let error = failure.error(about: owner.shownURL).shown
            owner.reply { handler(data.isEmpty ? nil : data, false, error) }
        case (.continuation(let continuation), .read(let data, let isAtEnd)):
            owner.loop.atEndOfRound { continuation.resume(returning: (data, isAtEnd)) }
        case (.continuation(let continuation), .failed(let failure, _)):
            let error = failure.error(about: owner.shownURL).shown
            owner.loop.atEndOfRound { continuation.resume(throwing: error) }
        }
    }

    private func finish(_ writer: StreamWriter, _ failure: StreamFailure?) {
        guard let owner else { return }
        let error = failure?.error(about: owner.shownURL).shown
        switch writer {
        case .handler(let handler): owner.reply { handler(error) }
        case .continuation(let continuation):
            owner.loop.atEndOfRound {
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    private func arm() {
        guard let loop = owner?.loop else { return }
        if let end = queue.nextEnd {
            let deadline = deadline ?? Deadline { [weak self] in self?.change { $0.timePassed($1) } }
            self.deadline = deadline
            loop.schedule(deadline, at: end)
        } else if let deadline = deadline.take() {
            loop.cancel(deadline)
        }
    }
}
