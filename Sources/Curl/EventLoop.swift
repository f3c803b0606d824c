import Dispatch
import Glibc
import Locks

/// Work to be done on a loop.
package protocol LoopWork: AnyObject, Sendable {
    /// Called on `loop`, to which it was submitted, outside of libcurl.
    func run(on loop: EventLoop)
}

/// What a loop tells that one of its owner's descriptors is ready.
protocol DescriptorHandler: AnyObject {
    /// Called on the loop.
    func descriptorBecameReady(_ descriptor: Int32)
}

/// One serial queue, one epoll set watched by one Dispatch source, one timer.
///
/// Everything that happens to the multi handles assigned to a loop happens in its turns, one after the other. The timer
/// is a timerfd in the same epoll set, so Dispatch watches a single descriptor. A busy loop waits for its sockets itself, for
/// up to a millisecond, before it leaves that to Dispatch again: coming back from there costs two more thread switches.
/// Loops live as long as the process: see `EventLoopGroup`.
///
/// `@unchecked Sendable`: what may be touched from any thread is guarded by `inbox` and `gate`; all else is touched on
/// `queue` alone.
package final class EventLoop: @unchecked Sendable {
    // MARK: Any thread

    package let queue: DispatchQueue
    private let inbox = Mutex(Inbox())
    /// Held during a turn; true once the process exits, and then no turn does anything.
    private let gate = Mutex(false)

    private struct Inbox {
        var work: [any LoopWork] = []
        /// A turn is under way or on its way, and will look into the inbox before it ends.
        var turnIsComing = false
        /// The turn waits for sockets, and for `wakeUp`.
        var isWaiting = false
        /// The process exits: no round begins any more.
        var isStopping = false
    }

    private let wakeUp = WakeUpDescriptor()

    // MARK: Loop only (what each request touches is spared the run-time check for overlapping accesses)

    /// The time at the start of this turn's current round.
    @exclusivity(unchecked) package private(set) var now = MonotonicTime.now
    @exclusivity(unchecked) private var sockets: SocketSet
    @exclusivity(unchecked) private var deadlines = DeadlineQueue()
    @exclusivity(unchecked) private var timer: TimerDescriptor
    @exclusivity(unchecked) private var multis: [UInt32: Multi] = [:]
    private var descriptorHandlers: [UInt32: any DescriptorHandler] = [:]
    /// The sockets of transfers that say nothing about whom theirs belong to.
    private(set) lazy var otherConnections = ConnectionGroup(on: self)
    /// The bodies that are decoded on it.
    package private(set) lazy var decodingTurns = DecodingTurns(on: self)
    /// How many transfers run in all of them; kept by them.
    var transferCount = 0
    private var nextOwner: UInt32 = 1
    /// Multis that have something to do before the turn ends, each once.
    @exclusivity(unchecked) private var pendingMultis = Batch<Multi>()
    /// Multis that want to look at connections again before the loop sleeps, each once.
    @exclusivity(unchecked) private var watchfulMultis = Batch<Multi>()
    /// For how many busy rounds they have waited.
    private var roundsWithoutLook = 0
    /// For how many rounds the sockets have waited for multis that had something due at once, and since when.
    private var roundsWithoutSockets = 0
    private var withoutSocketsSince = MonotonicTime.now
    /// What wakes other threads, kept back to the end of a round: they are woken once for all of it.
    @exclusivity(unchecked) private var deliveries = Batch<Delivery>()
    private let source: (any DispatchSourceRead)?
    /// Why the loop can't run transfers: the process was out of descriptors. Submitted work runs all the same.
    package let failure: SystemError?

    /// The timer's place among the owners of sockets.
    private static let timerOwner: UInt32 = 0
    private static let wakeUpOwner = UInt32.max
    /// How many rounds of events one turn serves before it lets Dispatch breathe.
    private static let roundsPerTurn = 256
    /// How many busy rounds a look is put off for: it costs more than it brings while there is enough to do.
    private static let roundsPerLook = 32
    /// How many rounds in a row may pass the sockets by.
    private static let roundsPerPoll = 32
    /// For how long, where rounds take their time.
    private static let nanosecondsPerPoll: Int64 = 1_000_000
    /// How many rounds are not to wait, because waiting was in vain; doubled each time it is.
    private var roundsWithoutWaiting = 0
    private var lastPenalty = 0

    init(label: String) {
        queue = DispatchQueue(label: label)
        sockets = SocketSet()
        timer = TimerDescriptor()
        failure = sockets.failure ?? timer.failure ?? wakeUp.failure
        guard failure == nil else {
            source = nil
            return
        }
        _ = sockets.watch(timer.descriptor, for: .read, owner: Self.timerOwner)
        _ = sockets.watch(wakeUp.descriptor, for: .read, owner: Self.wakeUpOwner)
        let source = DispatchSource.makeReadSource(fileDescriptor: sockets.descriptor, queue: queue)
        self.source = source
        source.setEventHandler { [unowned self] in
            let isFirst = inbox.withLock { inbox in
                defer { inbox.turnIsComing = true }
                return !inbox.turnIsComing
            }
            // Else the turn that is queued behind this handler serves the sockets as well.
            if isFirst { turn() }
        }
        source.activate()
    }

    /// Has `work` run on the loop soon, after all that was submitted before it. Any thread; never blocks.
    package func submit(_ work: any LoopWork) {
        enum Call { case turn, wakeUp, nothing }
        let call: Call = inbox.withLock { inbox in
            inbox.work.append(work)
            if inbox.isWaiting {
                inbox.isWaiting = false
                return .wakeUp
            }
            defer { inbox.turnIsComing = true }
            return inbox.turnIsComing ? .nothing : .turn
        }
        switch call {
        case .turn: queue.async { self.turn() }
        case .wakeUp: wakeUp.signal()
        case .nothing: break
        }
    }

    /// Has `body` run on the loop soon. Any thread; never blocks.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        submit(ClosureWork(body: body))
    }

    /// Traps when the caller is not on this loop.
    package func preconditionOnLoop() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    // MARK: - Deadlines (loop only)

    package func schedule(_ deadline: Deadline, at time: MonotonicTime) {
        deadlines.schedule(deadline, at: time)
    }

    package func cancel(_ deadline: Deadline) {
        deadlines.cancel(deadline)
    }

    /// Has `delivery` run at the end of this round. For what wakes other threads.
    package func atEndOfRound(_ delivery: @escaping () -> Void) {
        deliveries.append(Delivery(run: delivery))
    }

    // MARK: - For the owners of descriptors (loop only)

    func register(_ multi: Multi) -> UInt32 {
        let owner = makeOwner()
        multis[owner] = multi
        return owner
    }

    func register(_ handler: any DescriptorHandler) -> UInt32 {
        let owner = makeOwner()
        descriptorHandlers[owner] = handler
        return owner
    }

    private func makeOwner() -> UInt32 {
        while nextOwner == Self.timerOwner || nextOwner == Self.wakeUpOwner || multis[nextOwner] != nil
            || descriptorHandlers[nextOwner] != nil
        {
            nextOwner &+= 1
        }
        defer { nextOwner &+= 1 }
        return nextOwner
    }

    func unregister(_ owner: UInt32) {
        multis[owner] = nil
        descriptorHandlers[owner] = nil
    }

    func watch(_ socket: Int32, for interest: SocketInterest, owner: UInt32) {
        if sockets.watch(socket, for: interest, owner: owner) { multis[owner]?.connectionBegan() }
    }

    func unwatch(_ socket: Int32) {
        sockets.unwatch(socket)
    }

    /// The transfer on `socket` is over; see `SocketSet`.
    func becameIdle(_ socket: Int32, _ traffic: IdleTraffic) {
        sockets.becameIdle(socket, traffic)
    }

    /// A request is about to go out on a connection from `localPort` that was idle: it is hung up where something has come on it that
    /// wasn't asked for, or is left of the last answer (`hasLeftovers`). Within libcurl, which then makes another connection.
    func hangUpReadable(onPort localPort: Int, hasLeftovers: Bool) {
        for owner in sockets.hangUpReadable(onPort: localPort, all: hasLeftovers) { multis[owner]?.connectionEnded() }
    }

    /// Within libcurl. -1 where the system has no socket left.
    func openSocket(family: Int32, type: Int32, protocolNumber: Int32) -> Int32 {
        // Child processes have no business with our connections.
        let socket = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), protocolNumber)
        if socket >= 0 { sockets.opened(socket) }
        return socket
    }

    /// Within libcurl.
    func closeSocket(_ socket: Int32) {
        if let owner = sockets.close(socket) { multis[owner]?.connectionEnded() }
    }

    /// Has `multi.settle()` called before the turn ends. The multi sees to it that it asks only once.
    func settleSoon(_ multi: Multi) {
        pendingMultis.append(multi)
    }

    /// Has `multi.lookAgain()` called when no socket is ready any more, or some rounds later. The multi sees to it that it asks only once.
    func lookSoon(_ multi: Multi) {
        watchfulMultis.append(multi)
    }

    // MARK: - The turn

    private func turn() {
        let isStopped = gate.withLock { isStopped in
            if !isStopped { serve() }
            return isStopped
        }
        if isStopped { source?.suspend() }
    }

    /// Serves work, deadlines and sockets until there is nothing left that is due.
    private func serve() {
        for _ in 0..<Self.roundsPerTurn {
            now = .now
            guard let work = takeSubmittedWork() else { return }
            for item in work { item.run(on: self) }
            fireDeadlines()
            settleMultis()
            deliver()
            if !pendingMultis.isEmpty {
                serveSocketsNowAndThen()
                continue
            }
            roundsWithoutSockets = 0
            let count = pollSockets()
            serveSockets(count)
            if !lookAgain(isQuiet: count == 0) && count == 0 && endTurn() { return }
        }
        // Still busy: continue behind whatever else waits on the queue. `turnIsComing` stays set.
        queue.async { self.turn() }
    }

    /// libcurl may have something due in each round: the sockets have their turn all the same.
    private func serveSocketsNowAndThen() {
        if roundsWithoutSockets == 0 { withoutSocketsSince = now }
        roundsWithoutSockets += 1
        let isOverdue = now.nanoseconds - withoutSocketsSince.nanoseconds >= Self.nanosecondsPerPoll
        guard isOverdue || roundsWithoutSockets >= Self.roundsPerPoll else { return }
        roundsWithoutSockets = 0
        serveSockets(sockets.poll())
    }

    /// Fetches the sockets' events. Where transfers run and nothing else is to be done, waits a moment for the first, unless
    /// that was in vain lately.
    private func pollSockets() -> Int {
        guard roundsWithoutWaiting == 0, transferCount > 0 else {
            roundsWithoutWaiting = max(0, roundsWithoutWaiting - 1)
            return sockets.poll()
        }
        timer.arm(for: deadlines.earliest, now: now)
        let mayWait = inbox.withLock { inbox in
            inbox.isWaiting = inbox.work.isEmpty
            return inbox.isWaiting
        }
        guard mayWait else { return sockets.poll() }
        let count = sockets.poll(waitingFor: 1)
        inbox.withLock { $0.isWaiting = false }
        lastPenalty = count > 0 ? 0 : min(64, max(1, 2 * lastPenalty))
        roundsWithoutWaiting = lastPenalty
        return count
    }

    /// True when nothing was submitted in the meantime: the turn is over, and the next submission starts another.
    private func endTurn() -> Bool {
        timer.arm(for: deadlines.earliest, now: now)
        return inbox.withLock { inbox in
            guard inbox.work.isEmpty else { return false }
            inbox.turnIsComing = false
            return true
        }
    }

    /// nil when the process exits.
    private func takeSubmittedWork() -> [any LoopWork]? {
        inbox.withLock { inbox in
            guard !inbox.isStopping else { return nil }
            defer { inbox.work = [] }
            return inbox.work
        }
    }

    private func serveSockets(_ count: Int) {
        for index in 0..<count {
            switch sockets.event(at: index) {
            case .ready(let event): serve(event)
            case .hungUp(let owner): multis[owner]?.connectionEnded()
            case .stray: break
            }
        }
    }

    private func serve(_ event: ReadySocket) {
        switch event.owner {
        case Self.timerOwner: timer.acknowledge()
        case Self.wakeUpOwner: wakeUp.acknowledge()
        default:
            if let multi = multis[event.owner] {
                multi.socketBecameReady(event)
            } else {
                descriptorHandlers[event.owner]?.descriptorBecameReady(event.socket)
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
        pendingMultis.takeBack(multis)
    }

    /// True when something may have come of it.
    private func lookAgain(isQuiet: Bool) -> Bool {
        guard !watchfulMultis.isEmpty else { return false }
        roundsWithoutLook += 1
        guard isQuiet || roundsWithoutLook >= Self.roundsPerLook else { return false }
        roundsWithoutLook = 0
        let multis = watchfulMultis.take()
        let hasMoved = multis.reduce(false) { $1.lookAgain() || $0 }
        watchfulMultis.takeBack(multis)
        return hasMoved
    }

    private func deliver() {
        guard !deliveries.isEmpty else { return }
        let round = deliveries.take()
        for delivery in round { delivery.run() }
        deliveries.takeBack(round)
    }

    // MARK: - Process exit

    /// Lets the round under way end and prevents another, so that nothing of ours is inside libcurl or OpenSSL while the
    /// process runs its exit handlers. Gives up at `giveUp`.
    func stopForProcessExit(by giveUp: MonotonicTime) {
        inbox.withLock { $0.isStopping = true }
        while gate.withLockIfAvailable({ $0 = true }) == nil, MonotonicTime.now < giveUp {
            usleep(1000)
        }
    }
}

/// In a value of its own: a closure that lies in a generic list by itself costs another allocation.
private struct Delivery {
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
