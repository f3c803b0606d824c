import Dispatch
import Glibc
import CurlNetworkingLocks

package protocol LoopWork: AnyObject, Sendable {
    /// Called on `loop`, to which it was submitted, outside of libcurl.
    func run(on loop: EventLoop)
}

/// One serial queue, one epoll set watched by one Dispatch source, one timer.
///
/// Everything that happens to the multi handles assigned to a loop happens in its turns, one after the other. A turn is one block on the
/// queue; it consists of rounds, each of which takes work, fires deadlines and polls the sockets once. The timer is a timerfd in the same
/// epoll set, so Dispatch watches a single descriptor. A loop that has been busy waits for its sockets and for more work itself, for up to
/// a millisecond, before it leaves that to Dispatch again: being woken by Dispatch costs two more thread switches.
///
/// A loop is also an executor: the jobs of Swift tasks that prefer it run on its queue, between its rounds. Loops live as long as the
/// process: see `EventLoopGroup`.
///
/// `@unchecked Sendable`: state that any thread may touch is guarded by `inbox` and `gate`; everything else is touched only on `queue`.
package final class EventLoop: @unchecked Sendable {
    // MARK: Any thread

    package let queue: DispatchQueue
    private let inbox = Mutex(Inbox())
    /// The loop whose queue the current thread runs.
    private static let current = DispatchSpecificKey<ObjectIdentifier>()
    /// Held during a turn; true once the process is exiting, after which turns do nothing.
    private let gate = Mutex(false)

    private struct Inbox {
        var work: [any LoopWork] = []
        /// The jobs of Swift tasks that prefer this loop as their executor.
        var jobs: [UnownedJob] = []
        /// Whether a turn is running or scheduled, which will check the inbox before it ends.
        var isTurnScheduled = false
        /// Whether the turn waits for sockets, and for `wakeUp`.
        var isWaiting = false
        /// Whether the process is exiting: no further round begins.
        var isStopping = false
        /// See `isBroken`.
        var isBroken = false

        var isEmpty: Bool { work.isEmpty && jobs.isEmpty }
    }

    /// Replaced only by `makeReady`, on a loop that has never waited: no other thread has looked at it yet.
    private var wakeUp = WakeUpDescriptor()
    /// Every call into libcurl that may read from sockets is made within it.
    let calls = CallWatch()

    // MARK: Loop only

    /// The time at the start of this turn's current round.
    package var now: MonotonicTime { lastLook }
    /// Not `package`: where the compiler knows all accesses, it needn't check them for overlaps, and a request makes ten.
    private var lastLook = MonotonicTime.now
    /// The earliest time at which the next round can start.
    private var nextRound: MonotonicTime { MonotonicTime(nanoseconds: now.nanoseconds + 1) }
    private var sockets = SocketSet()
    /// Unchecked, as are others below, for the same reason as in `Deadline`.
    @exclusivity(unchecked) private var deadlines = DeadlineQueue()
    private var timer = TimerDescriptor()
    private var owners = DescriptorOwners()
    @exclusivity(unchecked) private var pacing = LoopPacing()
    private lazy var endOfRests = Deadline { [unowned self] in sockets.endRests() }
    /// The sockets of transfers that name no group.
    private(set) lazy var otherConnections = ConnectionGroup(on: self)
    /// The bodies decoded on this loop.
    package private(set) lazy var decodingTurns = DecodingTurns(on: self)
    /// The buffer that channels read into, one at a time.
    private(set) lazy var channelBuffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ChannelOptions.maximumReceivedAtOnce,
        alignment: MemoryLayout<UInt64>.alignment
    )
    /// How many transfers run in all its multis, which keep the count.
    var transferCount = 0
    /// Multis with something to do before the turn ends, each once.
    @exclusivity(unchecked) private var pendingMultis = WorkList<Multi>()
    /// Multis that want to check their connections again before the loop sleeps, each once.
    @exclusivity(unchecked) private var multisToRecheck = WorkList<Multi>()
    /// Deliveries that wake other threads, held back to the end of a round so that each thread is woken once.
    @exclusivity(unchecked) private var deliveries = WorkList<EndOfRoundAction>()
    /// The source that serves the sockets, or why there is none.
    private var source: Result<any DispatchSourceRead, SystemError> = .failure(SystemError(code: EMFILE))

    /// Whether the process was out of descriptors when the loop was made, and `makeReady` hasn't repaired it since. Any thread.
    var isBroken: Bool { inbox.withLock { $0.isBroken } }

    /// Throws if the loop can't run transfers, and so fires no deadlines: the process was out of descriptors when it was made, and still
    /// is. Submitted work still runs.
    package func makeReady() throws(TransferFailure) {
        preconditionOnLoop()
        guard case .failure = source else { return }
        sockets = SocketSet()
        timer = TimerDescriptor()
        wakeUp = WakeUpDescriptor()
        open()
        guard case .failure(let failure) = source else { return }
        throw TransferFailure(
            code: .failedInit,
            text: "The event loop could not be created: \(failure).",
            systemErrno: failure.code
        )
    }

    /// How many rounds of events one turn serves before it yields to Dispatch.
    private static let roundsPerTurn = 256

    init(label: String) {
        // Dispatch has a limited number of threads for each QoS class, and programs block those of the default class.
        queue = DispatchQueue(label: label, qos: .userInitiated)
        queue.setSpecific(key: Self.current, value: ObjectIdentifier(self))
        open()
    }

    private func open() {
        _ = sockets.watch(timer.descriptor, for: .read, owner: DescriptorOwners.timer)
        _ = sockets.watch(wakeUp.descriptor, for: [.read, .edge], owner: DescriptorOwners.wakeUp)
        let isWatching = sockets.isWatching(timer.descriptor) && sockets.isWatching(wakeUp.descriptor)
        let failure = sockets.failure ?? timer.failure ?? wakeUp.failure
        if let failure = failure ?? (isWatching ? nil : SystemError(code: ENOMEM)) {
            source = .failure(failure)
            inbox.withLock { $0.isBroken = true }
            return
        }
        inbox.withLock { $0.isBroken = false }
        let source = DispatchSource.makeReadSource(fileDescriptor: sockets.descriptor, queue: queue)
        self.source = .success(source)
        source.setEventHandler { [unowned self] in
            let isFirst = inbox.withLock { inbox in
                defer { inbox.isTurnScheduled = true }
                return !inbox.isTurnScheduled
            }
            // Otherwise the turn queued after this handler serves the sockets as well.
            if isFirst { turn() }
        }
        source.activate()
    }

    /// Runs `work` on the loop soon, after all work submitted before it. Any thread; never blocks.
    package func submit(_ work: any LoopWork) {
        submit(adding: { $0.work.append(work) })
    }

    /// Runs `body` on the loop soon. Any thread; never blocks.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        submit(ClosureWork(body: body))
    }

    /// Has `add` put something into the inbox, and ensures that a turn finds it.
    @inline(__always)
    private func submit(adding add: (inout Inbox) -> Void) {
        enum Call { case turn, wakeUp, nothing }
        let call: Call = inbox.withLock { inbox in
            add(&inbox)
            if inbox.isWaiting {
                inbox.isWaiting = false
                return .wakeUp
            }
            defer { inbox.isTurnScheduled = true }
            return inbox.isTurnScheduled ? .nothing : .turn
        }
        switch call {
        case .turn: queue.async { self.turn() }
        case .wakeUp: wakeUp.signal()
        case .nothing: break
        }
    }

    package func preconditionOnLoop() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    /// Whether the caller is on an event loop, whichever it is. Any thread.
    package static var isCurrent: Bool { DispatchQueue.getSpecific(key: current) != nil }

    // MARK: - Deadlines (loop only)

    /// `deadline` fires in the next round at the earliest, so that one that reschedules itself doesn't starve everything else.
    package func schedule(_ deadline: Deadline, at time: MonotonicTime) {
        deadlines.schedule(deadline, at: max(time, nextRound))
    }

    package func cancel(_ deadline: Deadline) {
        deadlines.cancel(deadline)
    }

    /// Runs `delivery` at the end of this round. For code that wakes other threads.
    package func atEndOfRound(_ delivery: @escaping () -> Void) {
        deliveries.append(EndOfRoundAction(run: delivery))
    }

    // MARK: - For the owners of descriptors (loop only)

    func register(_ multi: Multi) -> UInt32 {
        owners.add(multi)
    }

    func register(_ handler: any DescriptorHandler) -> UInt32 {
        owners.add(handler)
    }

    func unregister(_ owner: UInt32) {
        owners.remove(owner)
    }

    /// False if the system refuses.
    @discardableResult
    func watch(
        _ socket: Int32,
        for interest: SocketInterest,
        owner: UInt32,
        by asker: ObjectIdentifier? = nil
    ) -> Bool {
        if sockets.watch(socket, for: interest, owner: owner, by: asker) { owners.multi(owner)?.connectionBegan() }
        return sockets.isWatching(socket)
    }

    func unwatch(_ socket: Int32) {
        sockets.unwatch(socket)
    }

    /// The socket that has this number now.
    func current(_ number: Int32) -> OpenedSocket { sockets.current(number) }

    /// Called when the transfer `asker` on `socket` is over; see `SocketSet`.
    func becameIdle(_ socket: OpenedSocket, _ traffic: IdleTraffic, after asker: ObjectIdentifier) {
        sockets.becameIdle(socket, traffic, after: asker)
    }

    /// Called when a request is about to be sent on an idle connection from `localPort`. Hangs up that connection if something unrequested
    /// has arrived on it, or if part of the last response is left (`hasLeftovers`). Within libcurl, which then opens another connection.
    func hangUpReadable(onPort localPort: Int, hasLeftovers: Bool) {
        let hungUp = sockets.hangUpReadable(onPort: localPort, all: hasLeftovers) { owner in
            owners.multi(owner)?.running.hasUnwatchedTransfer(fromPort: localPort) == true
        }
        for owner in hungUp { owners.multi(owner)?.connectionEnded() }
    }

    /// Hangs up an idle connection of `multi`, if it is still open. Outside of libcurl.
    func hangUp(_ socket: OpenedSocket, of multi: Multi) {
        guard sockets.isConnection(socket) else { return }
        sockets.hangUp(socket.number)
        multi.connectionEnded()
    }

    /// The idle HTTP/1 and FTP sockets that are connected from `localPort`.
    func idleSockets(onPort localPort: Int) -> [Int32] { sockets.idle(onPort: localPort) }

    /// Within libcurl. -1 if the system is out of sockets.
    func openSocket(family: Int32, type: Int32, protocolNumber: Int32) -> Int32 {
        // Child processes must not inherit our connections.
        let socket = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), protocolNumber)
        if socket >= 0 {
            sockets.opened(socket)
            calls.opened(socket)
        }
        return socket
    }

    /// Called when libcurl was told that it can write to `socket`, and nothing had arrived there. If libcurl repeatedly does nothing about
    /// it, the socket rests for some milliseconds: otherwise the loop would never sleep.
    func noteWritable(_ socket: Int32, isFutile: Bool) {
        guard sockets.noteWritable(socket, isFutile: isFutile), !endOfRests.isScheduled else { return }
        schedule(endOfRests, at: now + Self.rest)
    }

    private static let rest = Duration.milliseconds(10)

    /// Within libcurl.
    func closeSocket(_ socket: Int32) {
        calls.leaves(socket)
        if let owner = sockets.close(socket) { owners.multi(owner)?.connectionEnded() }
    }

    /// Calls `multi.settle()` before the turn ends. The multi asks only once.
    func settleSoon(_ multi: Multi) {
        pendingMultis.append(multi)
    }

    /// Runs `multi.recheck` when no socket is ready any more, or some rounds later. The multi asks only once.
    func recheckSoon(_ multi: Multi) {
        multisToRecheck.append(multi)
    }

    // MARK: - The turn

    private enum Pause {
        /// Nothing is due. The next submission or event starts another turn.
        case untilNeeded
        /// Much has been done, and more is due.
        case forOthers
        case forJobs([UnownedJob])
        case forExit
    }

    private func turn() {
        var rounds = 0..<Self.roundsPerTurn
        while true {
            switch gate.withLock({ isStopped in isStopped ? .forExit : serve(&rounds) }) {
            case .untilNeeded:
                return
            case .forOthers:
                // Continue after whatever else waits on the queue. `isTurnScheduled` stays set.
                return queue.async { self.turn() }
            case .forJobs(let jobs):
                // Not during `serve`: a job is the program's own code, which may take any length of time, and may end the process.
                for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            case .forExit:
                try? source.get().suspend()
                return
            }
        }
    }

    /// Serves work, deadlines and sockets until nothing more is due, or until there are jobs to run.
    private func serve(_ rounds: inout Range<Int>) -> Pause {
        while rounds.popFirst() != nil {
            lastLook = .now
            guard let (work, jobs) = takeSubmissions() else { return .forExit }
            for item in work { item.run(on: self) }
            // libcurl may have something due in every round, and so may tasks: the sockets still get their turn. It comes before the
            // deadlines, because bytes that arrived while a task took its time aren't late; nor is what libcurl has finished.
            if pacing.rounds.isPollDue(at: now) { serveReadySockets() }
            settleMultis()
            fireDeadlines()
            settleMultis()
            deliver()
            if !jobs.isEmpty { return .forJobs(jobs) }
            guard pendingMultis.isEmpty, let count = pollSockets() else { continue }
            pacing.rounds.polls(at: .now)
            serveSockets(count)
            if !recheckMultis(isQuiet: count == 0) && count == 0 && endTurn() { return .untilNeeded }
        }
        return .forOthers
    }

    /// Serves all ready sockets, unless there are thousands. Before libcurl is called again, handlers act on what they have recorded.
    private func serveReadySockets() {
        for _ in 0..<16 {
            settleMultis()
            let count = sockets.poll()
            serveSockets(count)
            _ = recheckMultis(isQuiet: count == 0)
            if count < SocketSet.maximumEvents { return }
        }
    }

    /// Whether a deadline is due in the next round, whenever that starts.
    private var isDeadlineDue: Bool { deadlines.earliest.map { $0 <= nextRound } ?? false }

    /// Fetches the sockets' events. If there is nothing else to do, waits a moment for the first event, unless a recent wait was in vain;
    /// while no transfer runs, that is the next request, which often follows the last one's response. nil if jobs have arrived meanwhile:
    /// they run first.
    private func pollSockets() -> Int? {
        let isIdle = transferCount == 0
        guard case .success = source, !isDeadlineDue, pacing.mayWait(isIdle: isIdle) else { return sockets.poll() }
        timer.arm(for: deadlines.earliest)
        let (mayWait, hasJobs) = inbox.withLock { inbox in
            inbox.isWaiting = inbox.isEmpty
            return (inbox.isWaiting, !inbox.jobs.isEmpty)
        }
        if hasJobs { return nil }
        guard mayWait else { return sockets.poll() }
        let count = sockets.poll(waitingFor: 1)
        inbox.withLock { $0.isWaiting = false }
        pacing.waited(isIdle: isIdle, inVain: count == 0)
        return count
    }

    /// True if nothing was submitted meanwhile: the turn is over, and the next submission starts another.
    private func endTurn() -> Bool {
        guard !isDeadlineDue else { return false }
        timer.arm(for: deadlines.earliest)
        pacing.rounds.turnEnds()
        return inbox.withLock { inbox in
            guard inbox.isEmpty else { return false }
            inbox.isTurnScheduled = false
            return true
        }
    }

    /// nil when the process is exiting.
    private func takeSubmissions() -> (work: [any LoopWork], jobs: [UnownedJob])? {
        inbox.withLock { inbox in
            guard !inbox.isStopping else { return nil }
            defer { (inbox.work, inbox.jobs) = ([], []) }
            return (inbox.work, inbox.jobs)
        }
    }

    private func serveSockets(_ count: Int) {
        for index in 0..<count {
            // Earlier sockets may have taken long: this event isn't as old as the round.
            lastLook = .now
            switch sockets.event(at: index) {
            case .ready(let event): serve(event)
            case .unasked(let owner, let socket): arrivedUnasked(on: socket, of: owner)
            case .ended(let owner, let socket): connectionEnded(socket, of: owner)
            case .stray: break
            }
        }
    }

    private func arrivedUnasked(on socket: Int32, of owner: UInt32) {
        let multi = owners.multi(owner)
        let localPort = ConnectionEndpoints.localPort(of: socket)
        if multi?.running.hasTransfer(fromPort: localPort) == true { return sockets.ignore(socket) }
        sockets.hangUp(socket)
        multi?.connectionEnded()
    }

    private func connectionEnded(_ socket: Int32, of owner: UInt32) {
        let multi = owners.multi(owner)
        // A paused transfer has yet to read the bytes that arrived on it.
        if multi?.running.hasTransfer(on: socket) == true { return sockets.leave(socket) }
        sockets.hangUp(socket)
        multi?.connectionEnded()
    }

    private func serve(_ event: ReadySocket) {
        switch event.owner {
        case DescriptorOwners.timer: timer.acknowledge()
        case DescriptorOwners.wakeUp: break
        default:
            if let multi = owners.multi(event.owner) {
                multi.socketBecameReady(event)
            } else {
                owners.handler(event.owner)?.descriptorBecameReady(event.socket)
            }
        }
    }

    private func fireDeadlines() {
        while let action = deadlines.popDue(at: now) { action() }
    }

    private func settleMultis() {
        guard !pendingMultis.isEmpty else { return }
        let multis = pendingMultis.take()
        for multi in multis { multi.settle() }
        pendingMultis.recycle(multis)
    }

    /// True if that may have produced something to do.
    private func recheckMultis(isQuiet: Bool) -> Bool {
        guard !multisToRecheck.isEmpty, pacing.rounds.isRecheckDue(isQuiet: isQuiet) else { return false }
        let multis = multisToRecheck.take()
        let hasMoved = multis.reduce(false) { $1.recheck.run() || $0 }
        multisToRecheck.recycle(multis)
        return hasMoved
    }

    private func deliver() {
        guard !deliveries.isEmpty else { return }
        let round = deliveries.take()
        for delivery in round { delivery.run() }
        deliveries.recycle(round)
    }

    // MARK: - Process exit

    /// Lets the current round finish and prevents another, so that none of our code is inside libcurl or OpenSSL while the process runs its
    /// exit handlers. Gives up at `giveUp`. If the current round itself ends the process, it doesn't continue.
    func stopForProcessExit(by giveUp: MonotonicTime) {
        inbox.withLock { $0.isStopping = true }
        if DispatchQueue.getSpecific(key: Self.current) == ObjectIdentifier(self) { return }
        while gate.withLockIfAvailable({ $0 = true }) == nil, MonotonicTime.now < giveUp {
            usleep(1000)
        }
    }
}

extension EventLoop: TaskExecutor {
    /// Called by Swift's runtime when a task that prefers this loop is to continue. Any thread; never blocks.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit(adding: { $0.jobs.append(job) })
    }
}

/// A struct, because storing a bare closure in a generic list costs another allocation.
private struct EndOfRoundAction {
    let run: () -> Void
}

private final class ClosureWork: LoopWork {
    private let body: @Sendable () -> Void

    init(body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func run(on loop: EventLoop) {
        body()
    }
}
